//! What a start costs: the models of a router and of a provider from a warm cache as they were kept, beside the same list read and merged
//! with the static rows again; and what the static rows cost themselves. The lists are made up, as long as real ones.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a benchmark fails loudly and prints what it finds")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use polywire::{Catalog, LookOptions, ModelPatch, Network, Provider, RowSource, Store, read_list};
use serde_json::{Value, json};

mod median;

use median::time;

const ADDRESS: &str = "https://models.example/list";

/// Providers and how many models they list.
const LISTS: [(&str, usize); 3] = [("openrouter", 400), ("anthropic", 60), ("openai", 120)];

fn body(provider: &str, count: usize) -> Vec<u8> {
    let known = Catalog::built_in().models_of(provider).map(|row| row.id.clone());
    let ids = known.chain((0..).map(|number| format!("maker/model-{number}"))).take(count);
    let supported = |yes: bool| json!({"supported": yes});
    let entries: Vec<Value> = ids
        .map(|id| {
            json!({
                "id": id, "type": "model", "name": id, "created": 1, "context_length": 131_072, "max_input_tokens": 200_000, "max_tokens": 64_000,
                "description": "A model that answers questions, calls tools and writes long texts. ".repeat(12),
                "architecture": {"input_modalities": ["text", "image", "file"], "output_modalities": ["text"], "tokenizer": "Other"},
                "pricing": {"prompt": "0.000001", "completion": "0.000002", "request": "0", "image": "0", "web_search": "0"},
                "top_provider": {"context_length": 131_072, "max_completion_tokens": 16_384, "is_moderated": false},
                "supported_parameters": ["tools", "tool_choice", "structured_outputs", "response_format", "temperature", "top_p", "seed", "stop"],
                "capabilities": {"structured_outputs": supported(true), "image_input": supported(true), "pdf_input": supported(true)},
            })
        })
        .collect();
    json!({"data": entries, "has_more": false}).to_string().into_bytes()
}

fn options() -> LookOptions {
    LookOptions::at(SystemTime::now()).with_network(Network::Never)
}

fn warm(lists: &[List], path: &Path) -> Catalog {
    let mut catalog = Catalog::built_in().clone();
    let mut store = Store::open(path);
    for List { provider, .. } in lists {
        let found = store.recall(Catalog::built_in(), provider, ADDRESS, &options());
        assert_eq!(found.source, RowSource::Kept);
        catalog.put(&provider.id, found.rows);
    }
    catalog
}

fn cold(lists: &[List]) -> Catalog {
    let mut catalog = Catalog::built_in().clone();
    for list in lists {
        catalog.put(&list.provider.id, catalog.merge(&list.provider.id, &list.read()));
    }
    catalog
}

/// A provider and what it says.
struct List {
    provider: &'static Provider,
    body: Vec<u8>,
    count: usize,
}

impl List {
    fn new((id, count): (&str, usize)) -> Self {
        let provider = Catalog::built_in().provider(id).expect("a provider");
        Self { provider, body: body(id, count), count }
    }

    fn read(&self) -> Vec<ModelPatch> {
        let style = self.provider.list.as_ref().expect("a list").style;
        read_list(self.provider, style, &self.body).expect("a list").models
    }
}

fn main() {
    let path: PathBuf = std::env::temp_dir().join(format!("polywire-bench-{}/models.sqlite3", std::process::id()));
    let lists: Vec<List> = LISTS.into_iter().map(List::new).collect();
    for list in &lists {
        Store::open(&path).save(Catalog::built_in(), list.provider, ADDRESS, (&list.read(), None), &options());
    }
    for lists in lists.chunks(1).chain([lists.as_slice()]) {
        let kept = time(|| drop(black_box(warm(lists, &path))));
        let merged = time(|| drop(black_box(cold(lists))));
        let ratio = merged.as_secs_f64() / kept.as_secs_f64();
        let names: Vec<&str> = lists.iter().map(|list| list.provider.id.as_str()).collect();
        let count: usize = lists.iter().map(|list| list.count).sum();
        println!(
            "{}, {count} models: warm cache {kept:?}, cold merge {merged:?}, {ratio:.1} times",
            names.join(" and ")
        );
    }
    let (providers, models) = (include_str!("../data/providers.toml"), include_str!("../data/models.toml"));
    let rows = time(|| drop(Catalog::from_toml(black_box(providers), black_box(models)).expect("rows")));
    println!("the static rows: {rows:?}");
    // What is left behind harms nobody.
    let _ = path.parent().map(std::fs::remove_dir_all);
}
