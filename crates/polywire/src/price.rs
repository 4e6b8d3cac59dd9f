//! Prices of models, and what an answer cost by them.

use polywire_wire::Usage;
use serde::{Deserialize, Serialize};

/// What a model costs in US dollars per million tokens, by the provider's list price: no discounts, no batches, no tools that the provider
/// runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Price {
    /// Input that is neither read from a cache nor written to one.
    pub input: UsdPerMillion,
    /// Output, thoughts included.
    pub output: UsdPerMillion,
    /// Input read from a cache, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<UsdPerMillion>,
    /// Input written to a cache of the shortest lifetime, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<UsdPerMillion>,
    /// The most input tokens that these prices hold for, where longer requests cost more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input: Option<u64>,
    /// Where the prices are from.
    pub source: String,
    /// The day on which they were looked up.
    pub checked_on: String,
}

/// An exact price: millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct UsdPerMillion(u64);

/// More than any token costs: 10 dollars each.
const MAX_MICROS: f64 = 1e13;

impl TryFrom<f64> for UsdPerMillion {
    type Error = &'static str;

    fn try_from(usd: f64) -> Result<Self, Self::Error> {
        let micros = (usd * 1e6).round();
        if !(0.0..=MAX_MICROS).contains(&micros) {
            return Err("a price is a number of dollars that is not negative");
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number in range")]
        Ok(Self(micros as u64))
    }
}

impl From<UsdPerMillion> for f64 {
    fn from(price: UsdPerMillion) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "prices have far fewer digits than that")]
        let micros = price.0 as Self;
        micros / 1e6
    }
}

/// What an answer cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "cost")]
#[non_exhaustive]
pub enum Cost {
    /// By the list price of the model.
    Known {
        /// US dollars.
        usd: f64,
    },
    /// It cannot be said.
    Unknown {
        /// Why not.
        why: &'static str,
    },
}

impl Price {
    /// What tokens cost.
    pub fn cost(&self, usage: &Usage) -> Cost {
        if self.max_input.is_some_and(|most| usage.input_tokens > most) {
            return Cost::Unknown { why: "longer requests have another price" };
        }
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let plain = usage.input_tokens.saturating_sub(cached);
        let parts = [
            (plain, Some(self.input)),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, Some(self.output)),
        ];
        let mut total: u128 = 0;
        for (tokens, price) in parts.into_iter().filter(|(tokens, _)| *tokens > 0) {
            let Some(UsdPerMillion(micros)) = price else {
                return Cost::Unknown { why: "the price of cached tokens is not known" };
            };
            total = total.saturating_add(u128::from(tokens).saturating_mul(u128::from(micros)));
        }
        #[expect(clippy::cast_precision_loss, reason = "a cost is shown with a few digits")]
        Cost::Known { usd: total as f64 / 1e12 }
    }
}

impl Cost {
    /// What an answer cost, by the price of its model and the usage that the provider reported.
    pub fn of(price: Option<&Price>, usage: Option<&Usage>) -> Self {
        match (price, usage) {
            (None, _) => Self::Unknown { why: "the price of the model is not known" },
            (_, None) => Self::Unknown { why: "the provider did not say how many tokens it took" },
            (Some(price), Some(usage)) => price.cost(usage),
        }
    }

    /// US dollars, where known.
    pub fn usd(&self) -> Option<f64> {
        if let Self::Known { usd } = self { Some(*usd) } else { None }
    }
}

/// The cost of several answers, which is known where each of them is.
impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        let mut sum = 0.0;
        for cost in costs {
            match cost {
                Self::Known { usd } => sum += usd,
                unknown @ Self::Unknown { .. } => return unknown,
            }
        }
        Self::Known { usd: sum }
    }
}

#[cfg(test)]
mod tests {
    use polywire_wire::Usage;

    use super::{Cost, Price, UsdPerMillion};
    use crate::catalog::Catalog;

    fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens, ..Usage::default() }
    }

    fn price(name: &str) -> Price {
        let model = Catalog::built_in().resolve(name).expect("a model");
        model.row().price.clone().expect("a price")
    }

    #[test]
    fn tokens_are_priced_by_what_they_are() {
        let price = price("anthropic/claude-sonnet-4-5");
        // 700 plain at 3, 200 read at 0.30, 100 written at 3.75, 50 out at 15 dollars a million.
        let usage = Usage { cache_read_tokens: 200, cache_write_tokens: 100, ..usage(1000, 50) };
        let usd = price.cost(&usage).usd().expect("a cost");
        assert!((usd - 0.003_285).abs() < 1e-12, "{usd}");
        assert_eq!(price.cost(&Usage::default()), Cost::Known { usd: 0.0 });
        assert!(price.cost(&self::usage(u64::MAX / 2, u64::MAX)).usd().is_none(), "beyond the price's limit");
    }

    /// What is not known is not taken for free.
    #[test]
    fn what_is_not_known_is_said() {
        let price = price("openai/gpt-4o");
        let cached = Usage { cache_read_tokens: 1, ..usage(10, 1) };
        assert_eq!(price.cost(&cached), Cost::Unknown { why: "the price of cached tokens is not known" });
        let long = self::price("google/gemini-2.5-pro").cost(&usage(200_001, 1));
        assert_eq!(long, Cost::Unknown { why: "longer requests have another price" });
        assert_eq!(Cost::of(None, Some(&usage(1, 1))).usd(), None);
        assert_eq!(Cost::of(Some(&price), None).usd(), None);
        let sum = |costs: Vec<Cost>| costs.into_iter().sum::<Cost>();
        assert_eq!(sum(vec![price.cost(&usage(400_000, 0)); 2]), Cost::Known { usd: 2.0 });
        assert_eq!(sum(vec![Cost::Known { usd: 1.0 }, Cost::of(None, None)]).usd(), None);
    }

    #[test]
    fn every_price_has_a_source_and_a_day() {
        let prices: Vec<Price> = Catalog::built_in().models().filter_map(|row| row.price.clone()).collect();
        assert!(prices.len() > 20, "{}", prices.len());
        for price in prices {
            let day: Vec<&str> = price.checked_on.split('-').collect();
            assert!(price.source.starts_with("https://") && day.len() == 3, "{price:?}");
            assert!(price.cache_read.is_none_or(|read| read < price.input) && price.input < price.output, "{price:?}");
        }
    }

    #[test]
    fn prices_are_exact_and_not_negative() {
        let text = serde_json::to_string(&price("anthropic/claude-opus-4-5")).expect("JSON");
        assert_eq!(serde_json::from_str::<Price>(&text).expect("a price"), price("anthropic/claude-opus-4-5"));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(UsdPerMillion::try_from(bad).is_err(), "{bad}");
        }
    }
}
