//! The client: names to models, emulated ones included.

use std::sync::Arc;

use polywire::wire::OutputFormat;
use polywire::{Catalog, Config, Model, Request};
use polywire_emulator::{NamedModels, real_name};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::ask::{AskStream, AskedText, AskedValue};
use crate::emulator::Emulator;
use crate::error::Error;
use crate::prompt::request_with;
use crate::run::{RunEnded, ToolSpec};
use crate::settings::{AskSettings, ClientSettings, RunSettings};

/// Sends requests. Cheap to clone. Its methods are futures for [`spawn`](crate::spawn).
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) inner: polywire::Client,
    catalog: Arc<Catalog>,
    /// Started by the first emulated model.
    emulator: Arc<OnceCell<Emulator>>,
}

/// A client that reaches the models of one question.
pub(crate) struct Connected {
    pub(crate) client: polywire::Client,
    pub(crate) models: Vec<Model>,
}

impl Client {
    /// Creates a client. Sends nothing.
    pub fn new(settings: &ClientSettings) -> Result<Self, Error> {
        let mut inner = polywire::Client::with_options(settings.options()?)?;
        for (provider, key) in &settings.keys {
            inner = inner.with_key(provider, key.as_str());
        }
        for (provider, url) in &settings.base_urls {
            inner = inner.with_base_url(provider, url);
        }
        for (name, value) in &settings.headers {
            inner = inner.with_header(name, value);
        }
        let built_in = Catalog::built_in();
        let catalog = match &settings.config {
            Some(text) => {
                let config =
                    Config::read(text, &|name| Err(format!("`{name}` is not read here"))).map_err(|mistakes| {
                        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                        Error::input("config", lines.join("\n"))
                    })?;
                let mut catalog = config.base(built_in);
                config.over(&mut catalog);
                catalog
            }
            None => built_in.clone(),
        };
        Ok(Self { inner, catalog: Arc::new(catalog), emulator: Arc::default() })
    }

    /// Asks for a value that a schema accepts.
    pub async fn ask(
        &self,
        asked: Value,
        schema: Value,
        models: &[String],
        settings: &AskSettings,
    ) -> Result<AskedValue, Error> {
        let request = request_with(asked, settings)?;
        let format = output_format(schema, settings)?;
        let Connected { client, models } = self.connect(models, settings).await?;
        Ok(AskedValue::from(client.ask_format(request, format, &models).await?))
    }

    /// Asks for text.
    pub async fn ask_text(&self, asked: Value, models: &[String], settings: &AskSettings) -> Result<AskedText, Error> {
        let request = request_with(asked, settings)?;
        let Connected { client, models } = self.connect(models, settings).await?;
        AskedText::of(client.complete(&request, &models).await?)
    }

    /// Asks for a value, or without a schema for text, and shows it while it arrives.
    pub async fn ask_stream(
        &self,
        asked: Value,
        schema: Option<Value>,
        models: &[String],
        settings: &AskSettings,
    ) -> Result<AskStream, Error> {
        let request: Request = request_with(asked, settings)?;
        let format = schema.map(|schema| output_format(schema, settings)).transpose()?;
        let Connected { client, models } = self.connect(models, settings).await?;
        let emulator = self.emulator.get().cloned();
        Ok(match format {
            Some(format) => AskStream::of_value(client.ask_format_stream(request, format, &models), emulator),
            None => AskStream::of_text(client.stream(&request, &models), emulator),
        })
    }

    /// Runs a tool loop. With a schema, the last answer is a value that it accepts.
    pub async fn run(
        &self,
        asked: Value,
        tools: Vec<ToolSpec>,
        schema: Option<Value>,
        models: &[String],
        settings: &RunSettings,
    ) -> Result<RunEnded, Error> {
        let mut request = request_with(asked, &settings.ask)?;
        if let Some(schema) = &schema {
            request = request.output(output_format(schema.clone(), &settings.ask)?);
        }
        let connected = self.connect(models, &settings.ask).await?;
        crate::run::run(connected, request, tools, schema, settings).await
    }

    async fn connect(&self, names: &[String], settings: &AskSettings) -> Result<Connected, Error> {
        if names.is_empty() {
            return Err(Error::input("no-model", "no model is named; give one such as `anthropic/claude-sonnet-4-5`"));
        }
        let resolve = |name: &str| Ok::<_, Error>(self.catalog.resolve(real_name(name))?);
        let found = NamedModels::read(&self.catalog, names, resolve)?;
        let mut client = self.inner.clone();
        if !found.emulated.is_empty() {
            let emulator = self.emulator.get_or_try_init(|| Emulator::open(0)).await?;
            client = emulator.with(|emulator| found.connect(client, emulator))?;
        }
        Ok(Connected { client: client.call(settings.call()?), models: found.models })
    }
}

fn output_format(schema: Value, settings: &AskSettings) -> Result<OutputFormat, Error> {
    let name = settings.name.as_deref().unwrap_or("answer");
    let format = OutputFormat::best_effort(name, schema)
        .map_err(|error| Error::input("output", error.to_string()).at("/name"))?;
    Ok(format.with_strategy(settings.strategy.unwrap_or_default()).with_description(settings.description.clone()))
}
