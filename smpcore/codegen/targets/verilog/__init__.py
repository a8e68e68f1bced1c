"""Linear models of integers as modules of Verilog."""
