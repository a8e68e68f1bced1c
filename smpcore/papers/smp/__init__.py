"""Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018."""
