//! Environment variables: read once, when a client is built.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Secret;

/// The environment variables that a client looks up: keys, base URLs, regions. Cheap to clone; never printed.
///
/// ```
/// use polywire::client::Environment;
///
/// let environment = Environment::from_iter([("OPENAI_API_KEY", "sk-test")]);
/// assert_eq!(format!("{environment:?}"), "Environment(1 variable)");
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    variables: Arc<BTreeMap<String, Secret>>,
}

impl Environment {
    /// An environment without variables.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A copy of this process's variables. Those that are not UTF-8 are left out.
    pub fn process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The trimmed value of a variable; `None` if it is empty.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let value = self.variables.get(name)?.expose().trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect();
        Self { variables: Arc::new(variables) }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.variables.len();
        write!(f, "Environment({count} variable{})", if count == 1 { "" } else { "s" })
    }
}

/// The trimmed value of a variable of this process; `None` if it is empty.
pub(super) fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
