"""Models as a crate of Rust."""
