//! The file of the store: opened by several processes at once, made anew where it is of an older version, set aside where it is broken
//! or somebody else's.

use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// The version of the tables. Older ones are dropped.
const VERSION: i32 = 1;
/// "poly" in ASCII: the mark of our files.
const OURS: i32 = 0x706f_6c79;

/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Files that were set aside and are kept.
const MOST_ASIDE: usize = 9;

/// The most bytes of a file. The longest list that is read has 50 000 models, which is far less.
const MAX_BYTES: u64 = 256 << 20;

/// Lists of models, one a provider and address. The rows are JSON: they are read whole or not at all.
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

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is broken or not ours: another one can take its place.
    Useless(String),
    /// The place does not allow it: nothing that a new file would mend.
    Place(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Useless(why) | Self::Place(why) => f.write_str(why),
        }
    }
}

impl Trouble {
    pub(super) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Useless(format!("is broken ({error})")),
            Some(ErrorCode::DiskFull) => Self::Place("cannot be written: the disk is full".to_owned()),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Place("cannot be written: it is read-only".to_owned())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Place(format!("is held by another process for more than {PATIENCE:?}"))
            }
            _ => Self::Place(format!("cannot be used ({error})")),
        }
    }

    fn of_io(error: &io::Error) -> Self {
        Self::Place(format!("cannot be used ({error})"))
    }
}

/// Opens a file of ours, and makes it where there is none. Files are made by one process at a time, so that nobody begins one
/// while another sets the old one aside.
pub(super) fn open(path: &Path) -> Result<Connection, Trouble> {
    check_kind(path)?;
    if let Some(connection) = ready(path)? {
        return Ok(connection);
    }
    let _lock = lock(path)?;
    create(path)
}

/// Refuses what is no file of a sensible size before it is opened: a pipe would block, and a link that leads nowhere would have a file
/// made wherever it points.
fn check_kind(path: &Path) -> Result<(), Trouble> {
    let refused = |what: &str| Err(Trouble::Place(format!("cannot be used: it is {what}")));
    for path in [path.to_owned(), sibling(path, ".lock"), sibling(path, "-wal"), sibling(path, "-shm")] {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return refused("a directory"),
            Ok(found) if !found.is_file() => return refused("a pipe, a socket or a device"),
            Ok(found) if found.len() > MAX_BYTES => return refused(&format!("larger than {MAX_BYTES} bytes")),
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) => {
                return refused("a link that leads nowhere");
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// The file, if it exists and has its tables.
fn ready(path: &Path) -> Result<Option<Connection>, Trouble> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    });
    let found =
        opened.map_err(|error| Trouble::of(&error)).and_then(|connection| Ok((state(&connection)?, connection)));
    match found {
        Ok((State::Ready, connection)) => Ok(Some(connection)),
        Ok((State::Empty, _)) => Ok(None),
        // Another process has just set it aside.
        Err(_) if !path.exists() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// Makes the file or its tables, as far as they are missing. The lock is the caller's.
fn create(path: &Path) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| Trouble::of(&error))?;
    prepare(&mut connection)?;
    Ok(connection)
}

/// A store that ends with the process.
pub(super) fn memory() -> Result<Connection, Trouble> {
    let mut connection = Connection::open_in_memory().map_err(|error| Trouble::of(&error))?;
    prepare(&mut connection)?;
    Ok(connection)
}

/// What the file is.
enum State {
    Ready,
    /// It has no tables of this version yet.
    Empty,
}

fn prepare(connection: &mut Connection) -> Result<(), Trouble> {
    connection.busy_timeout(PATIENCE).map_err(|error| Trouble::of(&error))?;
    match state(connection)? {
        State::Ready => Ok(()),
        State::Empty => make(connection),
    }
}

fn state(connection: &Connection) -> Result<State, Trouble> {
    let ask =
        |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0)).map_err(|error| Trouble::of(&error));
    let (owner, version) = (ask("PRAGMA application_id")?, ask("PRAGMA user_version")?);
    match (owner, version) {
        (OURS, VERSION) => Ok(State::Ready),
        (OURS, version) if version > VERSION => Err(Trouble::Place("was made by a newer polywire".to_owned())),
        (OURS, _) => Ok(State::Empty),
        _ if ask("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Empty),
        _ => Err(Trouble::Useless("is a database of somebody else's".to_owned())),
    }
}

/// Makes the tables.
fn make(connection: &mut Connection) -> Result<(), Trouble> {
    // Readers do not wait for a writer then.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(|error| Trouble::of(&error))?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(|error| Trouble::of(&error))?;
    if matches!(state(&transaction)?, State::Empty) {
        let marks = format!("{TABLES} PRAGMA application_id = {OURS}; PRAGMA user_version = {VERSION};");
        transaction.execute_batch(&marks).map_err(|error| Trouble::of(&error))?;
    }
    transaction.commit().map_err(|error| Trouble::of(&error))
}

/// A folder that only its owner can read, if it has to be made.
fn folder_of_ours(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Puts a new file in the place of one that is no use. Of several processes that try, the first one does it; only that one is
/// told where the old file is.
pub(super) fn rebuild(path: &Path) -> Result<(Connection, Option<PathBuf>), Trouble> {
    check_kind(path)?;
    let _lock = lock(path)?;
    match create(path) {
        Ok(connection) if is_sound(&connection) => return Ok((connection, None)),
        Ok(_) | Err(Trouble::Useless(_)) => {}
        Err(trouble) => return Err(trouble),
    }
    let mut names = (1..=MOST_ASIDE).map(|number| sibling(path, &format!(".aside-{number}")));
    let free = names.clone().find(|name| !name.exists()).or_else(|| names.next_back());
    let aside = free.unwrap_or_else(|| sibling(path, ".aside"));
    fs::rename(path, &aside).map_err(|error| Trouble::of_io(&error))?;
    for part in ["-wal", "-shm"] {
        // There need not be any.
        let _ = fs::rename(sibling(path, part), sibling(&aside, part));
    }
    Ok((create(path)?, Some(aside)))
}

/// Whether every page of a file is in order.
fn is_sound(connection: &Connection) -> bool {
    let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    verdict.is_ok_and(|verdict| verdict == "ok")
}

fn sibling(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The right to make the file, in a folder that is made if need be.
fn lock(path: &Path) -> Result<File, Trouble> {
    let opened = path
        .parent()
        .map_or(Ok(()), folder_of_ours)
        .and_then(|()| File::options().create(true).truncate(false).write(true).open(sibling(path, ".lock")));
    let file = opened.map_err(|error| Trouble::of_io(&error))?;
    let tries = PATIENCE.as_millis() / PAUSE.as_millis().max(1);
    for _ in 0..tries {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(Trouble::of_io(&error)),
        }
    }
    Err(Trouble::Place(format!("is being made by another process for more than {PATIENCE:?}")))
}

/// Copies what a file that cannot be written holds. Gives the number of lists.
pub(super) fn copy(path: &Path, into: &Connection) -> usize {
    let Some(name) = path.to_str().filter(|_| path.exists() && check_kind(path).is_ok()) else { return 0 };
    let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found: rusqlite::Result<usize> = (|| {
        let from = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
        if !matches!(state(&from), Ok(State::Ready)) {
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
