"""Models as files of ONNX."""
