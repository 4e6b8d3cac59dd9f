//! The models of a provider, fetched from its own list endpoint: page by page, by the same rules as requests.

use std::time::Instant;

use super::Client;
use super::address::Destination;
use super::error::SendError;
use super::exchange::Answer;
use super::tries::{Permit, Tries, Wait, after};
use crate::catalog::list::read_list;
use crate::model::ModelPatch;
use crate::provider::{ListEndpoint, Provider};

/// The most pages and models of a list.
const MAX_PAGES: usize = 64;
const MAX_MODELS: usize = 50_000;

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
        let until = after(self.deadline());
        let mut next: Option<(&'static str, String)> = None;
        for _ in 0..MAX_PAGES {
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
            if page.next == next || listing.models.len() > MAX_MODELS {
                break;
            }
            next = page.next;
        }
        listing.models.truncate(MAX_MODELS);
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
        let client = self.with_fetched_credential(&provider.id).await?;
        let mut place = client.place(provider, below, path, &provider.own_headers())?;
        let size = list.style.page_size();
        let next = next.map(|(name, value)| (*name, value.as_str()));
        if size.is_some() || next.is_some() {
            place.url.query_pairs_mut().extend_pairs(size.into_iter().chain(next));
        }
        let mut tries = Tries::new(&provider.id, until);
        let body = loop {
            let permit = tries.acquire(self).await?;
            let body = self.get(provider, &place, &permit).await;
            drop(permit);
            match body {
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

    async fn get(&self, provider: &Provider, from: &Destination, permit: &Permit) -> Result<Body, SendError> {
        let max_bytes = self.options().max_response_bytes;
        let head = Answer::of(self.shared.transport.as_ref(), from, max_bytes);
        let mut answer = permit.within(self, Wait::FirstByte, head).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = permit.within(self, Wait::Next, async { Ok(answer.chunk().await) }).await? {
            let chunk = chunk.map_err(SendError::Connection)?;
            if bytes.len() + chunk.len() > max_bytes {
                return Err(SendError::TooLarge(max_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        let kind = answer.content_type().to_owned();
        if answer.status.is_success() {
            return Ok(Body { bytes, kind });
        }
        match provider.surfaces.first() {
            Some(surface) => Err(answer.error(surface.protocol, &from.mask.bytes(&bytes))),
            None => Err(SendError::Unreadable { content_type: kind, why: format!("status {}", answer.status) }),
        }
    }
}

/// The body of a page.
struct Body {
    bytes: Vec<u8>,
    kind: String,
}
