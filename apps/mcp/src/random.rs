//! Names that nobody guesses.

use ring::rand::{SecureRandom as _, SystemRandom};

/// A name of 128 random bits; `None` where the system gives none.
pub(crate) fn random_name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
