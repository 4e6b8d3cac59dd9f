//! The database file of the store. Several processes may open it; tables of an older version are recreated, and a corrupt or foreign
//! file is moved aside.

use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// The version of the tables. Older tables are dropped.
const VERSION: i32 = 1;
/// The `SQLite` application id of the file: "poly" in ASCII.
const APPLICATION_ID: i32 = 0x706f_6c79;

/// The longest wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The number of kept files that were moved aside.
const MAX_ASIDE_FILES: usize = 9;

/// The maximum size of the file. The longest accepted list has 50 000 models and is far smaller.
const MAX_BYTES: u64 = 256 << 20;

/// One model list per provider and URL. Lists are stored as JSON, because they are always read whole.
const TABLES: &str = "DROP TABLE IF EXISTS lists;
CREATE TABLE lists (
    provider TEXT NOT NULL,
    address TEXT NOT NULL,
    fetched_at INTEGER NOT NULL,
    authoritative INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    listed TEXT NOT NULL,
    merged TEXT NOT NULL,
    PRIMARY KEY (provider, address)
) STRICT;";

/// The error of a file that cannot be used.
#[derive(Debug)]
pub(super) enum FileError {
    /// The file is corrupt or foreign; a new file can replace it.
    Replaceable(String),
    /// The location is not usable; a new file would not help.
    Location(String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaceable(why) | Self::Location(why) => f.write_str(why),
        }
    }
}

impl FileError {
    pub(super) fn from_sqlite(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Replaceable(format!("is corrupt ({error})"))
            }
            Some(ErrorCode::DiskFull) => Self::Location("cannot be written: the disk is full".to_owned()),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Location("cannot be written: it is read-only".to_owned())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Location(format!("was locked by another process for more than {BUSY_TIMEOUT:?}"))
            }
            _ => Self::Location(format!("cannot be used ({error})")),
        }
    }

    fn from_io(error: &io::Error) -> Self {
        Self::Location(format!("cannot be used ({error})"))
    }
}

/// Opens or creates the file. Creation holds a lock, so that no process creates a file while another one moves the old file aside.
pub(super) fn open(path: &Path) -> Result<Connection, FileError> {
    check_kind(path)?;
    if let Some(connection) = open_ready(path)? {
        return Ok(connection);
    }
    let _lock = lock(path)?;
    create(path)
}

/// Rejects anything but regular files of a limited size before opening: a pipe would block, and opening a dangling symlink would create
/// a file at its target.
fn check_kind(path: &Path) -> Result<(), FileError> {
    let refused = |what: &str| Err(FileError::Location(format!("cannot be used: it is {what}")));
    for path in [path.to_owned(), sibling(path, ".lock"), sibling(path, "-wal"), sibling(path, "-shm")] {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return refused("a directory"),
            Ok(found) if !found.is_file() => return refused("a pipe, a socket or a device"),
            Ok(found) if found.len() > MAX_BYTES => return refused(&format!("larger than {MAX_BYTES} bytes")),
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) => {
                return refused("a dangling symbolic link");
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Opens the file if it exists and has its tables.
fn open_ready(path: &Path) -> Result<Option<Connection>, FileError> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    });
    let found = opened
        .map_err(|error| FileError::from_sqlite(&error))
        .and_then(|connection| Ok((read_state(&connection)?, connection)));
    match found {
        Ok((FileState::Ready, connection)) => Ok(Some(connection)),
        Ok((FileState::Empty, _)) => Ok(None),
        // Another process has just moved it aside.
        Err(_) if !path.exists() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates the file and its tables if they are missing. The caller must hold the lock.
fn create(path: &Path) -> Result<Connection, FileError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| FileError::from_sqlite(&error))?;
    prepare(&mut connection)?;
    Ok(connection)
}

/// Opens a database in memory.
pub(super) fn open_in_memory() -> Result<Connection, FileError> {
    let mut connection = Connection::open_in_memory().map_err(|error| FileError::from_sqlite(&error))?;
    prepare(&mut connection)?;
    Ok(connection)
}

enum FileState {
    Ready,
    /// The file has no tables of this version.
    Empty,
}

fn prepare(connection: &mut Connection) -> Result<(), FileError> {
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| FileError::from_sqlite(&error))?;
    match read_state(connection)? {
        FileState::Ready => Ok(()),
        FileState::Empty => create_tables(connection),
    }
}

fn read_state(connection: &Connection) -> Result<FileState, FileError> {
    let query = |sql: &str| {
        connection.query_row(sql, [], |row| row.get::<_, i32>(0)).map_err(|error| FileError::from_sqlite(&error))
    };
    let (owner, version) = (query("PRAGMA application_id")?, query("PRAGMA user_version")?);
    match (owner, version) {
        (APPLICATION_ID, VERSION) => Ok(FileState::Ready),
        (APPLICATION_ID, version) if version > VERSION => {
            Err(FileError::Location("was created by a newer version of polywire".to_owned()))
        }
        (APPLICATION_ID, _) => Ok(FileState::Empty),
        _ if query("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(FileState::Empty),
        _ => Err(FileError::Replaceable("is a database of another application".to_owned())),
    }
}

fn create_tables(connection: &mut Connection) -> Result<(), FileError> {
    // With WAL readers do not wait for a writer.
    connection
        .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .map_err(|error| FileError::from_sqlite(&error))?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(|error| FileError::from_sqlite(&error))?;
    if matches!(read_state(&transaction)?, FileState::Empty) {
        let marks = format!("{TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};");
        transaction.execute_batch(&marks).map_err(|error| FileError::from_sqlite(&error))?;
    }
    transaction.commit().map_err(|error| FileError::from_sqlite(&error))
}

/// Creates a missing folder, readable by its owner only.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Replaces an unusable file. If several processes try, only the first one moves the file aside and gets its new path.
pub(super) fn rebuild(path: &Path) -> Result<(Connection, Option<PathBuf>), FileError> {
    check_kind(path)?;
    let _lock = lock(path)?;
    match create(path) {
        Ok(connection) if is_sound(&connection) => return Ok((connection, None)),
        Ok(_) | Err(FileError::Replaceable(_)) => {}
        Err(error) => return Err(error),
    }
    let mut names = (1..=MAX_ASIDE_FILES).map(|number| sibling(path, &format!(".aside-{number}")));
    let free = names.clone().find(|name| !name.exists()).or_else(|| names.next_back());
    let aside = free.unwrap_or_else(|| sibling(path, ".aside"));
    fs::rename(path, &aside).map_err(|error| FileError::from_io(&error))?;
    for part in ["-wal", "-shm"] {
        // These files may not exist.
        let _ = fs::rename(sibling(path, part), sibling(&aside, part));
    }
    Ok((create(path)?, Some(aside)))
}

/// Returns `true` if `SQLite` finds no corruption.
fn is_sound(connection: &Connection) -> bool {
    let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    verdict.is_ok_and(|verdict| verdict == "ok")
}

fn sibling(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Locks the creation of the file, and creates its folder if it is missing.
fn lock(path: &Path) -> Result<File, FileError> {
    let opened = path
        .parent()
        .map_or(Ok(()), create_private_folder)
        .and_then(|()| File::options().create(true).truncate(false).write(true).open(sibling(path, ".lock")));
    let file = opened.map_err(|error| FileError::from_io(&error))?;
    let tries = BUSY_TIMEOUT.as_millis() / LOCK_RETRY_INTERVAL.as_millis().max(1);
    for _ in 0..tries {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(FileError::from_io(&error)),
        }
    }
    Err(FileError::Location(format!("has been locked for creation by another process for more than {BUSY_TIMEOUT:?}")))
}

/// Copies the lists of a read-only file into a database. Returns the number of lists.
pub(super) fn copy_lists(path: &Path, into: &Connection) -> usize {
    let Some(name) = path.to_str().filter(|_| path.exists() && check_kind(path).is_ok()) else { return 0 };
    let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found: rusqlite::Result<usize> = (|| {
        let from = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
        if !matches!(read_state(&from), Ok(FileState::Ready)) {
            return Ok(0);
        }
        let mut read = from
            .prepare("SELECT provider, address, fetched_at, authoritative, fingerprint, listed, merged FROM lists")?;
        let mut write = into.prepare("INSERT INTO lists VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        let mut rows = read.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let values: Vec<rusqlite::types::Value> = (0..7).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            count += write.execute(rusqlite::params_from_iter(values))?;
        }
        Ok(count)
    })();
    found.unwrap_or_default()
}
