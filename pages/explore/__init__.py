"""The live figure: a message of the browser in, the fit, the picture out."""
