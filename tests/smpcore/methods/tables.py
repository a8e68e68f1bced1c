"""Data sets that the tests of methods share, as rows and targets."""

from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_moons,
)

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
MOONS = make_moons(200, noise=0.2, random_state=0)
