//! Speed, as ratios to `serde_json`.
fn main() {}
