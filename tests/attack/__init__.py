"""Attacks on the app: traffic on a server, and what nobody expects, drawn by seeds."""
