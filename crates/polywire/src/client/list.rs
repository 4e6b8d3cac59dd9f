//! Fetches the model list of a provider page by page, with the retries, limits and URL checks of other requests.

use std::time::Instant;

use super::Client;
use super::address::Destination;
use super::error::SendError;
use super::exchange::HttpResponse;
use super::tries::{ProviderPermit, RetryState, TimeoutKind, instant_after};
use crate::catalog::list::read_list;
use crate::model::ModelPatch;
use crate::provider::{ListEndpoint, Provider};

/// Limits for endpoints whose pagination does not end.
const MAX_PAGES: usize = 64;
const MAX_MODELS: usize = 50_000;

/// The model list of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The listed models.
    pub models: Vec<ModelPatch>,
    /// The reason why the list is incomplete; `None` for a complete list.
    pub cut: Option<String>,
}

impl Client {
    /// Fetches the model list of a provider. It is empty for a provider without a list endpoint. If a later page fails, the pages
    /// before it are returned with [`Listing::cut`].
    pub async fn list_models(&self, provider: &Provider) -> Result<Listing, SendError> {
        let mut listing = Listing::default();
        let Some(list) = &provider.list else { return Ok(listing) };
        let until = instant_after(self.deadline());
        let mut next: Option<(&'static str, String)> = None;
        for _ in 0..MAX_PAGES {
            let page = self.fetch_page(provider, list, next.as_ref(), until).await;
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
        listing.cut = Some("it has too many pages or models".to_owned());
        Ok(listing)
    }

    /// The URL of a provider's list endpoint, if it has one.
    pub fn list_address(&self, provider: &Provider) -> Result<Option<String>, SendError> {
        if provider.list.is_none() {
            return Ok(None);
        }
        Ok(provider.list_url(&self.base(provider)?))
    }

    async fn fetch_page(
        &self,
        provider: &Provider,
        list: &ListEndpoint,
        next: Option<&(&'static str, String)>,
        until: Instant,
    ) -> Result<crate::ListPage, SendError> {
        let base = self.base(provider)?;
        let Some((below, path)) = provider.list_place(&base) else { return Ok(crate::ListPage::default()) };
        let client = self.with_fetched_credential(&provider.id).await?;
        let mut destination = client.prepare_get(provider, below, path, &provider.own_headers())?;
        let size = list.style.page_size();
        let next = next.map(|(name, value)| (*name, value.as_str()));
        if size.is_some() || next.is_some() {
            destination.url.query_pairs_mut().extend_pairs(size.into_iter().chain(next));
        }
        let mut tries = RetryState::new(&provider.id, until);
        let body = loop {
            let permit = tries.acquire(self).await?;
            let body = self.fetch(provider, &destination, &permit).await;
            drop(permit);
            match body {
                Ok(body) => break body,
                Err(error) => tries.wait_for_retry(self, destination.mask.error(error)).await?,
            }
        };
        let page = read_list(provider, list.style, &destination.mask.bytes(&body.bytes));
        let page = page.map_err(|error| SendError::Unreadable { content_type: body.kind, why: error.to_string() });
        match page {
            Ok(page) => {
                let models = destination.mask.value(page.models).map(|(models, _)| models).unwrap_or_default();
                Ok(crate::ListPage { models, ..page })
            }
            Err(error) => Err(destination.mask.error(error)),
        }
    }

    async fn fetch(
        &self,
        provider: &Provider,
        from: &Destination,
        permit: &ProviderPermit,
    ) -> Result<PageBody, SendError> {
        let max_bytes = self.options().max_response_bytes;
        let head = HttpResponse::send(self.shared.transport.as_ref(), from, max_bytes);
        let mut response = permit.within(self, TimeoutKind::FirstByte, head).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) =
            permit.within(self, TimeoutKind::NextChunk, async { Ok(response.chunk().await) }).await?
        {
            let chunk = chunk.map_err(SendError::Connection)?;
            if bytes.len() + chunk.len() > max_bytes {
                return Err(SendError::TooLarge(max_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        let kind = response.content_type().to_owned();
        if response.status.is_success() {
            return Ok(PageBody { bytes, kind });
        }
        match provider.surfaces.first() {
            Some(surface) => Err(response.error(surface.protocol, &from.mask.bytes(&bytes))),
            None => Err(SendError::Unreadable { content_type: kind, why: format!("status {}", response.status) }),
        }
    }
}

/// The body of a page and its content type.
struct PageBody {
    bytes: Vec<u8>,
    kind: String,
}
