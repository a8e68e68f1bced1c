"""Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018."""
