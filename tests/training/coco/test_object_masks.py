import numpy as np

from training.coco.object_masks import MASK_SIZE, packed, sampled


def test_a_cell_belongs_to_the_object_that_covers_half_of_it() -> None:
    pixels = np.zeros((20, 30), np.uint8)
    pixels[4:12, 10:17] = 1
    # 16 x 14 pixels: a cell is a seventh of a pixel high and an eighth wide.
    found = sampled(pixels, (4, 10, 20, 24))
    expected = np.zeros((112, 112), bool)
    expected[:56, :56] = True
    assert found.tolist() == expected.tolist()


def test_a_cell_of_several_pixels_counts_their_area() -> None:
    # Cells of 2 x 2 pixels.
    pixels = np.zeros((224, 224), np.uint8)
    pixels[0:2, 0] = 1
    pixels[10, 11] = 1
    found = sampled(pixels, (0, 0, 224, 224))
    # Two of four pixels are half of a cell, one is not.
    assert np.argwhere(found).tolist() == [[0, 0]]


def test_a_thin_line_in_a_large_box_is_kept() -> None:
    pixels = np.zeros((500, 600), np.uint8)
    pixels[:, 250] = 1
    found = sampled(pixels, (0, 0, 500, 600))
    assert np.argwhere(found.any(axis=0)).ravel().tolist() == [46]
    assert found[:, 46].all()


def test_an_object_smaller_than_a_pixel_has_its_box() -> None:
    assert sampled(np.zeros((9, 9), np.uint8), (2.2, 2.2, 2.6, 2.4)).all()


def test_a_box_may_end_between_pixels() -> None:
    pixels = np.zeros((10, 10), np.uint8)
    pixels[:, 5:] = 1
    found = sampled(pixels, (0.5, 2.5, 9.5, 7.5))
    assert np.flatnonzero(found[0]).tolist() == list(range(56, 112))


def test_packs_the_first_cell_into_the_highest_bit() -> None:
    pixels = np.zeros((MASK_SIZE, MASK_SIZE), np.uint8)
    pixels[0, 0] = pixels[111, 111] = 1
    found = packed(pixels, (0, 0, 112, 112))
    assert (len(found), found[0], found[-1], sum(found)) == (1568, 128, 1, 129)
