"""A small network on scikit-learn's handwritten digits: `python -m training.digits`."""
