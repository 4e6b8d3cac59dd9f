//! Files that are configuration: read whole, up to a size, and only if they are regular files. A pipe would block, a device never end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// The most bytes of a configuration, of a dialect file, and of the list of trusted files.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// The text of a regular file of at most [`MAX_BYTES`].
pub(crate) fn read_regular(path: &Path) -> io::Result<String> {
    // Opening a pipe waits for its other end, so the kind is looked at before; what was opened may be another file by then.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some files do not know their size.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8"))?;
    // Some editors put a mark of the encoding before the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn check(metadata: &Metadata) -> io::Result<()> {
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a pipe, a socket or a device" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("this is {what}, not a file")));
    }
    if metadata.len() > MAX_BYTES { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("the file has more than {MAX_BYTES} bytes"))
}
