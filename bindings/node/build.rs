//! Linker options for addons of Node.

fn main() {
    napi_build::setup();
}
