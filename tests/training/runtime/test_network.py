import tensorflow as tf

from training.runtime.network import make_network

layers = tf.keras.layers


def test_in_float32_the_scale_is_one_and_stays_there() -> None:
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
    network = make_network(model, momentum=0.9)
    assert float(network.optimizer.loss_scale) == 1.0
    names = [variable.name for variable in network.variables]
    assert {"current_loss_scale:0", "good_steps:0", "iteration:0", "learning_rate:0"} <= set(names)
    assert sum("m/dense" in name for name in names) == 2


def test_a_frozen_layer_is_saved_but_has_neither_momentum_nor_statistics_of_a_rank() -> None:
    frozen = layers.BatchNormalization(name="frozen", trainable=False)
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,)), frozen, layers.BatchNormalization(name="moving")])
    network = make_network(model, momentum=0.9)
    names = [variable.name for variable in network.variables]
    assert [name for name in names if name.startswith("frozen")] == [
        "frozen/gamma:0",
        "frozen/beta:0",
        "frozen/moving_mean:0",
        "frozen/moving_variance:0",
    ]
    assert not [name for name in names if "m/frozen" in name]
    assert [variable.name for variable in network.statistics] == ["moving/moving_mean:0", "moving/moving_variance:0"]
