"""Demontis, Melis, Biggio, Fumera, Roli: Super-sparse Learning in Similarity Spaces.

IEEE Computational Intelligence Magazine, 2016.
"""
