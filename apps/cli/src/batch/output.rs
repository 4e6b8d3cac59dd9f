//! The output of a batch, which is also its memory: a whole line is an answer, and nothing else is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::Result;
use polywire::wire::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::input::Failure;

/// The lines that were done, with their fingerprints.
pub(super) type Done = BTreeMap<usize, Fingerprint>;

/// What tells a line of the input from another one: FNV-1a, the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

/// One line of the output.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) line: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Value>,
    pub(super) input: Fingerprint,
    pub(super) value: Value,
    pub(super) model: String,
    pub(super) attempts: usize,
    pub(super) usage: Usage,
}

/// What is needed of a line to know that it was done.
#[derive(Deserialize)]
struct Known {
    line: usize,
    input: Fingerprint,
}

/// The output, held against others who would write to it.
pub(super) struct Writer {
    name: String,
    file: File,
}

impl Writer {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = opened.map_err(|error| refused(&error, &name))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { name, file }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(
                "another batch is writing to this output",
                &name,
                "wait for it to finish, or give another output",
            )
            .into()),
            Err(TryLockError::Error(error)) => Err(refused(&error, &name)),
        }
    }

    /// Reads what was done. A last line that was torn is cut off; any other line that is none is an error.
    pub(super) fn resume(&mut self) -> Result<Done> {
        let mut done = Done::new();
        let mut reader = BufReader::new(&self.file);
        let (mut whole, mut number) = (0_u64, 0);
        loop {
            let mut bytes = Vec::new();
            let count = reader.read_until(b'\n', &mut bytes).map_err(|error| refused(&error, &self.name))?;
            number += 1;
            if count == 0 {
                break;
            }
            if bytes.last() != Some(&b'\n') {
                // It was being written when the end came.
                break;
            }
            let known: Known = serde_json::from_slice(&bytes).map_err(|error| self.not_a_record(number, &error))?;
            if done.insert(known.line, known.input).is_some() {
                return Err(self.not_a_record(number, &"this input line already has a value"));
            }
            whole += count as u64;
        }
        drop(reader);
        self.file.set_len(whole).map_err(|error| refused(&error, &self.name))?;
        Ok(done)
    }

    fn not_a_record(&self, number: usize, why: &dyn std::fmt::Display) -> anyhow::Error {
        let what = format!("line {number} is not a line of batch output: {why}");
        Failure::new(what, &self.name, "give a new file, or the output of an earlier `polywire batch`").into()
    }

    /// Writes one line in one piece.
    pub(super) fn write(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|error| refused(&error, &self.name))
    }

    /// What was written is on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|error| refused(&error, &self.name))
    }
}

fn refused(error: &std::io::Error, name: &str) -> anyhow::Error {
    Failure::new(error, name, "give a writable file").into()
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, Record, Writer};

    fn record(line: usize) -> Record {
        let value = serde_json::json!({"name": "Züri", "line": line});
        let (input, model) = (Fingerprint::of(&[7]), "openai/gpt-5".to_owned());
        Record { line, id: None, input, value, model, attempts: 1, usage: polywire::wire::Usage::default() }
    }

    /// Cut off after any byte, the output is what was whole, and goes on from there.
    #[test]
    fn a_torn_last_line_is_cut_off() {
        let path = std::env::temp_dir().join(format!("polywire-{}-torn.jsonl", std::process::id()));
        // What was left by a test that failed is in the way.
        let _ = std::fs::remove_file(&path);
        let mut writer = Writer::open(&path).expect("a file");
        (1..=3).for_each(|line| writer.write(&record(line)).expect("a line"));
        drop(writer);
        let whole = std::fs::read(&path).expect("bytes");
        for length in 0..=whole.len() {
            std::fs::write(&path, whole.get(..length).expect("a part")).expect("a file");
            let mut writer = Writer::open(&path).expect("a file");
            let done = writer.resume().expect("lines");
            let lines = whole.iter().take(length).filter(|byte| **byte == b'\n').count();
            assert_eq!(done.keys().copied().collect::<Vec<_>>(), (1..=lines).collect::<Vec<_>>());
            (lines + 1..=3).for_each(|line| writer.write(&record(line)).expect("a line"));
            drop(writer);
            assert_eq!(std::fs::read(&path).expect("bytes"), whole, "cut at {length}");
        }
        std::fs::remove_file(&path).expect("a file");
    }

    #[test]
    fn two_batches_do_not_write_to_one_output() {
        let path = std::env::temp_dir().join(format!("polywire-{}-locked.jsonl", std::process::id()));
        let first = Writer::open(&path).expect("a file");
        assert!(Writer::open(&path).map(|_| ()).expect_err("it is held").to_string().contains("another batch"));
        drop(first);
        assert!(Writer::open(&path).is_ok());
        std::fs::remove_file(&path).expect("a file");
    }
}
