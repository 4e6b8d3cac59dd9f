//! Options that several commands share, converted to options of the library.

use crate::input::Input;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::schema::{AmbiguousNull, Dialect, Draft, FitOptions, Open, Slot, Spill, StrictMode};
use polywire::{ClientOptions, PlainHttp};

use crate::input::{self, Failure};
use crate::known::Known;
use crate::regular_file::read_regular;

/// The environment variable that disables the strict flag everywhere.
const NO_STRICT: &str = "POLYWIRE_NO_STRICT";

/// `--json`.
#[derive(Args)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--plain-http`.
#[derive(Args)]
pub(crate) struct PlainHttpArg {
    /// Allow unencrypted HTTP to other machines, such as a model server in your own network
    #[arg(long)]
    plain_http: bool,
}

impl PlainHttpArg {
    /// The hosts to which requests may be sent without TLS.
    pub(crate) fn hosts(&self) -> PlainHttp {
        if self.plain_http { PlainHttp::Anywhere } else { PlainHttp::LoopbackOnly }
    }

    pub(crate) fn apply(&self, options: ClientOptions) -> ClientOptions {
        options.with_plain_http(self.hosts())
    }
}

/// `--proof-timeout`.
#[derive(Args)]
pub(crate) struct ProofTimeout {
    /// Maximum CPU seconds for one proof (wall-clock seconds where the system does not report CPU time)
    #[cfg_attr(
        feature = "prove",
        arg(
            long = "proof-timeout",
            alias = "patience",
            value_name = "SECONDS",
            default_value_t = 5.0,
            requires = "prove"
        )
    )]
    #[cfg_attr(not(feature = "prove"), arg(skip))]
    seconds: f64,
}

impl ProofTimeout {
    pub(crate) fn duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }
}

/// Options for fitting schemas.
#[derive(Args)]
pub(crate) struct FitArgs {
    /// What to do with objects that accept unknown keys: close them, or carry the unknown keys along
    #[arg(long, value_enum, default_value_t = OpenArg::Close)]
    open: OpenArg,
    /// The provider's strict flag: set it where the schema allows, require it, or never set it (`POLYWIRE_NO_STRICT=1` means never)
    #[arg(long, value_enum, default_value_t = StrictArg::Auto)]
    strict: StrictArg,
    /// How to read `null` for a property that may be absent or null: as null if its default is null, else as absent; or always one
    #[arg(long, value_enum, default_value_t = NullArg::Default)]
    null: NullArg,
    /// Do not describe dropped constraints in the `description`
    #[arg(long)]
    no_spill: bool,
    /// What the schema is for [default: `tool`, or `output` if the input is a structured-output body]
    #[arg(long, value_enum)]
    slot: Option<SlotArg>,
    /// The JSON Schema draft of the input, if it has no `$schema`
    #[arg(long, value_enum)]
    draft: Option<DraftArg>,
}

#[derive(Clone, Copy, ValueEnum)]
enum OpenArg {
    Close,
    Carry,
}

#[derive(Clone, Copy, ValueEnum)]
enum NullArg {
    Default,
    Absent,
    Null,
}

#[derive(Clone, Copy, ValueEnum)]
enum StrictArg {
    Auto,
    Require,
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SlotArg {
    Tool,
    Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum DraftArg {
    #[value(name = "03")]
    Draft03,
    #[value(name = "04")]
    Draft04,
    #[value(name = "06")]
    Draft06,
    #[value(name = "07")]
    Draft07,
    #[value(name = "2019-09")]
    Draft2019,
    #[value(name = "2020-12")]
    Draft2020,
    #[value(name = "openapi-3.0")]
    OpenApi30,
}

/// Whether the environment disables the strict flag.
pub(crate) fn no_strict() -> bool {
    is_set(std::env::var_os(NO_STRICT).as_deref())
}

fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

impl FitArgs {
    pub(crate) fn options(&self) -> FitOptions {
        self.options_under(std::env::var_os(NO_STRICT).as_deref())
    }

    /// The options for a document that may determine the slot itself.
    pub(crate) fn options_for(&self, input: &Input) -> FitOptions {
        let options = self.options();
        if self.slot.is_some() { options } else { options.with_slot(input.slot) }
    }

    /// The options, given the value of the environment variable.
    fn options_under(&self, no_strict: Option<&OsStr>) -> FitOptions {
        let strict = match self.strict {
            _ if is_set(no_strict) => StrictMode::Off,
            StrictArg::Auto => StrictMode::Auto,
            StrictArg::Require => StrictMode::Require,
            StrictArg::Off => StrictMode::Off,
        };
        let open = match self.open {
            OpenArg::Close => Open::Close,
            OpenArg::Carry => Open::Carry,
        };
        let null = match self.null {
            NullArg::Default => AmbiguousNull::ByDefault,
            NullArg::Absent => AmbiguousNull::Absent,
            NullArg::Null => AmbiguousNull::Null,
        };
        FitOptions::default()
            .with_strict(strict)
            .with_open(open)
            .with_ambiguous_null(null)
            .with_spill(if self.no_spill { Spill::Off } else { Spill::On })
            .with_slot(self.slot.map_or(Slot::Tool, SlotArg::slot))
            .with_draft(self.draft.map(DraftArg::draft))
    }
}

impl SlotArg {
    pub(crate) fn slot(self) -> Slot {
        match self {
            Self::Tool => Slot::Tool,
            Self::Output => Slot::Output,
        }
    }
}

impl DraftArg {
    fn draft(self) -> Draft {
        match self {
            Self::Draft03 => Draft::Draft03,
            Self::Draft04 => Draft::Draft04,
            Self::Draft06 => Draft::Draft06,
            Self::Draft07 => Draft::Draft07,
            Self::Draft2019 => Draft::Draft2019,
            Self::Draft2020 => Draft::Draft2020,
            Self::OpenApi30 => Draft::OpenApi30,
        }
    }
}

/// The dialect for a comma-separated list of ids (built in or configured) and paths of dialect files. Several mean what all of them accept.
pub(crate) fn read_target(names: &str) -> Result<Cow<'static, Dialect>> {
    let is_path = |name: &str| name.trim().to_ascii_lowercase().ends_with(".toml");
    if !names.split(',').any(is_path) {
        return Known::load()?.config.target(names).map_err(|error| unknown(&error.to_string(), names));
    }
    let known = Known::load()?;
    let mut members = Vec::new();
    for name in names.split(',').map(str::trim) {
        members.push(if is_path(name) {
            let text = read_regular(Path::new(name)).map_err(|error| input::unreadable(&error, name))?;
            let read = Dialect::from_toml(&text);
            Cow::Owned(
                read.map_err(|error| Failure::new(error, name, "docs/dialects.md shows what a dialect file needs"))?,
            )
        } else {
            known.config.target(name).map_err(|error| unknown(&error.to_string(), name))?
        });
    }
    Dialect::meet_of(members).map_err(|error| unknown(&error.to_string(), names))
}

fn unknown(what: &str, names: &str) -> anyhow::Error {
    let ids: Vec<&str> = polywire::schema::dialects().map(Dialect::id).collect();
    let next = match names.split(',').map(str::trim).find(|name| !ids.contains(name)) {
        None => "give these dialects one at a time".to_owned(),
        Some(name) => match similar::get_close_matches(name, &ids, 3, 0.5).as_slice() {
            [] => format!("known dialects: {}", ids.join(", ")),
            near => format!("did you mean {}?", near.join(", ")),
        },
    };
    Failure::new(what, names, &next).into()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::Parser;
    use polywire::schema::StrictMode;

    use super::FitArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: FitArgs,
    }

    /// R-A17: an environment switch turns strict off globally.
    #[test]
    fn r_a17_the_environment_turns_strict_off() {
        let line = Line::try_parse_from(["fit", "--strict", "require"]).expect("options");
        let strict = |value: Option<&str>| line.options.options_under(value.map(OsStr::new)).strict;
        assert_eq!(strict(Some("1")), StrictMode::Off);
        assert_eq!([None, Some(""), Some("0")].map(strict), [StrictMode::Require; 3]);
    }
}
