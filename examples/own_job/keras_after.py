import horovod.tensorflow.keras as hvd
import tensorflow as tf
from exact_resume.keras import ResumeCallback
from sklearn.datasets import load_digits

hvd.init()
if gpus := tf.config.list_physical_devices("GPU"):
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

digits = load_digits()
x, y = digits.images[..., None] / 16, digits.target

resume = ResumeCallback("out", seed=1)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(32, 3, activation="relu", input_shape=(8, 8, 1)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(10),
    ]
)
model.compile(
    hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.001 * hvd.size())),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    resume.batches(x, y, batch_size=32),
    epochs=10,
    callbacks=[hvd.callbacks.MetricAverageCallback(), resume],
    verbose=2 if hvd.rank() == 0 else 0,
)
if hvd.rank() == 0:
    model.save_weights("digits.h5")
