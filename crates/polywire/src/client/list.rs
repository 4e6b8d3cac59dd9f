//! The models of a provider, fetched from its own list endpoint: page by page, by the same rules as requests.

use std::time::{Instant, SystemTime};

use polywire_wire::Headers;
use reqwest::header::CONTENT_TYPE;

use super::Client;
use super::address::Destination;
use super::error::SendError;
use super::exchange::connection;
use super::tries::Tries;
use crate::catalog::list::read_list;
use crate::model::ModelPatch;
use crate::provider::{ListEndpoint, Provider};

/// The most pages and models of a list.
const MOST_PAGES: usize = 64;
const MOST_MODELS: usize = 50_000;

/// What a provider says of its models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// What it says, model by model.
    pub models: Vec<ModelPatch>,
    /// Why this is not the whole list, if it is not.
    pub cut: Option<String>,
}

impl Client {
    /// Asks a provider for the list of its models. A provider without a list has an empty one. A list that breaks off after a
    /// page is given as far as it came.
    pub async fn list_models(&self, provider: &Provider) -> Result<Listing, SendError> {
        let mut listing = Listing::default();
        let Some(list) = &provider.list else { return Ok(listing) };
        let until = Instant::now() + self.options.deadline;
        let mut next: Option<(&'static str, String)> = None;
        for _ in 0..MOST_PAGES {
            let page = self.page(provider, list, next.as_ref(), until).await;
            let page = match page {
                Ok(page) => page,
                Err(error) if next.is_some() => {
                    listing.cut = Some(error.to_string());
                    return Ok(listing);
                }
                Err(error) => return Err(error),
            };
            listing.models.extend(page.models);
            if page.next.is_none() {
                return Ok(listing);
            }
            if page.next == next || listing.models.len() > MOST_MODELS {
                break;
            }
            next = page.next;
        }
        listing.models.truncate(MOST_MODELS);
        listing.cut = Some("it does not end".to_owned());
        Ok(listing)
    }

    /// The address of a provider's list, where there is one.
    pub fn list_address(&self, provider: &Provider) -> Result<Option<String>, SendError> {
        if provider.list.is_none() {
            return Ok(None);
        }
        Ok(provider.list_url(&self.base(provider)?))
    }

    async fn page(
        &self,
        provider: &Provider,
        list: &ListEndpoint,
        next: Option<&(&'static str, String)>,
        until: Instant,
    ) -> Result<crate::ListPage, SendError> {
        let base = self.base(provider)?;
        let Some((below, path)) = provider.list_place(&base) else { return Ok(crate::ListPage::default()) };
        let mut place = self.place(provider, below, path, &provider.own_headers())?;
        let size = list.style.page_size();
        let next = next.map(|(name, value)| (*name, value.as_str()));
        if size.is_some() || next.is_some() {
            place.url.query_pairs_mut().extend_pairs(size.into_iter().chain(next));
        }
        let mut tries = Tries::new(&provider.id, until);
        let body = loop {
            let turn = tries.turn(self).await?;
            let got = turn.within(self, self.get(provider, &place)).await;
            drop(turn);
            match got {
                Ok(body) => break body,
                Err(error) => tries.again(self, place.mask.error(error)).await?,
            }
        };
        let page = read_list(provider, list.style, &place.mask.bytes(&body.bytes));
        let page = page.map_err(|error| SendError::Unreadable { content_type: body.kind, why: error.to_string() });
        match page {
            Ok(page) => {
                let models = place.mask.value(page.models).map(|(models, _)| models).unwrap_or_default();
                Ok(crate::ListPage { models, ..page })
            }
            Err(error) => Err(place.mask.error(error)),
        }
    }

    async fn get(&self, provider: &Provider, from: &Destination) -> Result<Body, SendError> {
        let headers = from.headers(SystemTime::now())?;
        let request = self.http.to(from).get(from.url.clone()).headers(headers);
        let mut answer = request.send().await.map_err(|error| connection(&error))?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or("no content type").to_owned();
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| connection(&error))? {
            if bytes.len() + chunk.len() > self.options.max_response_bytes {
                return Err(SendError::TooLarge(self.options.max_response_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        let status = answer.status();
        if status.is_success() {
            return Ok(Body { bytes, kind });
        }
        let pairs = answer.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let Some(surface) = provider.surfaces.first() else {
            return Err(SendError::Unreadable { content_type: kind, why: format!("status {status}") });
        };
        let error = surface.protocol.decode_error(status.as_u16(), Headers(&pairs), &from.mask.bytes(&bytes));
        Err(SendError::Provider(Box::new(error)))
    }
}

/// The body of a page.
struct Body {
    bytes: Vec<u8>,
    kind: String,
}
