//! Models discovered from the list endpoint of every provider, over HTTP on loopback.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use polywire::{
    Catalog, Client, ClientOptions, Discovered, LookOptions, ModelRow, Network, Origin, Provider, RowSource, Secret,
    SendError, Store, read_list,
};
use polywire_emulator::{EMULATE_HEADER, Emulator};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn client(provider: &Provider, base: &str) -> Client {
    let options = ClientOptions::default()
        .with_retries(1)
        .with_backoff(Duration::from_millis(5))
        .with_timeout(Duration::from_secs(10))
        .with_max_response_bytes(1 << 20);
    let client = Client::with_options(options).expect("a client");
    client.with_base_url(&provider.id, base).with_key(&provider.id, Secret::new("key-of-the-emulator"))
}

fn provider(id: &str) -> &'static Provider {
    Catalog::built_in().provider(id).expect("a provider")
}

fn options(network: Network) -> LookOptions {
    LookOptions::at(SystemTime::now()).with_network(network)
}

/// Asks the emulator, with the trouble that is named.
async fn discover(emulator: &Emulator, store: &mut Store, id: &str, trouble: &str) -> Discovered {
    let provider = provider(id);
    let client = client(provider, &emulator.base_url(provider)).with_header(EMULATE_HEADER, trouble);
    store.discover(Catalog::built_in(), provider, &client, &options(Network::Always)).await
}

fn codes(found: &Discovered) -> Vec<&'static str> {
    found.warnings.iter().map(|warning| warning.code).collect()
}

/// R-D1: what every provider lists is merged with the catalog. The emulator lists what the catalog says, so nothing may change but who
/// knows of it.
#[tokio::test]
async fn r_d1_every_provider_is_asked_for_its_models() {
    let emulator = Emulator::start(0).await.expect("a port");
    let mut store = Store::in_memory();
    for provider in Catalog::built_in().providers() {
        let found = discover(&emulator, &mut store, &provider.id, "").await;
        let ours: Vec<&ModelRow> = Catalog::built_in().models_of(&provider.id).collect();
        assert_eq!(codes(&found), Vec::<&str>::new(), "{}", provider.id);
        if provider.list.is_none() {
            assert_eq!(found.source, RowSource::Static, "{}", provider.id);
            assert!(
                found.rows.iter().zip(&ours).all(|(row, ours)| std::ptr::eq(Arc::as_ptr(row), *ours)),
                "{}",
                provider.id
            );
            continue;
        }
        assert_eq!(found.source, RowSource::Fetched, "{}", provider.id);
        let listed: Vec<&Arc<ModelRow>> =
            found.rows.iter().filter(|row| row.known_from.contains(&Origin::Provider)).collect();
        assert!(listed.len() >= ours.len().max(1), "{}: {} of {}", provider.id, listed.len(), ours.len());
        for row in listed {
            // A server for files lists names with a tag, which are rows of their own like the one without.
            let bare = row.id.split(':').next().unwrap_or_default();
            let Some(like) = ours.iter().find(|ours| ours.id == row.id || ours.id == bare) else {
                assert_eq!((row.known_from.as_slice(), row.id.as_str()), (&[Origin::Provider][..], "emulated"));
                continue;
            };
            let mut known = ModelRow::clone(row);
            (known.known_from, known.id) = (like.known_from.clone(), like.id.clone());
            (known.dated, known.aliases) = (like.dated.clone(), like.aliases.clone());
            assert_eq!(&known, *like, "{}", row.id);
        }
    }
}

/// Every page leads to the next, and together they are the list.
#[tokio::test]
async fn pages_follow_each_other() {
    let emulator = Emulator::start(0).await.expect("a port");
    for (id, path, size) in
        [("anthropic", "/anthropic/v1/models", "limit=7"), ("google", "/google/v1beta/models", "pageSize=4")]
    {
        let provider = provider(id);
        let style = provider.list.as_ref().expect("a list").style;
        let mut names = Vec::new();
        let mut query = size.to_owned();
        let mut pages = 0;
        loop {
            let (status, body) = get(&emulator, &format!("{path}?{query}")).await;
            assert_eq!(status, 200, "{body}");
            let page = read_list(provider, style, body.as_bytes()).expect("a page");
            names.extend(page.models.into_iter().map(|model| model.id));
            pages += 1;
            let Some((parameter, value)) = page.next else { break };
            query = format!("{size}&{parameter}={value}");
        }
        let ids = Catalog::built_in().models_of(id).flat_map(|row| [&row.id].into_iter().chain(&row.dated));
        assert_eq!(names, ids.cloned().collect::<Vec<_>>());
        assert!(pages > 2, "{pages}");
    }
}

async fn get(emulator: &Emulator, path: &str) -> (u16, String) {
    get_with(emulator, path, "").await
}

async fn get_with(emulator: &Emulator, path: &str, headers: &str) -> (u16, String) {
    let host = emulator.url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).await.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a status"), body.to_owned())
}

#[tokio::test]
async fn one_model_has_an_entry_and_an_unknown_one_an_error() {
    let emulator = Emulator::start(0).await.expect("a port");
    let (status, body) = get(&emulator, "/anthropic/v1/models/claude-sonnet-4-5").await;
    assert!(status == 200 && body.contains("structured_outputs"), "{body}");
    assert_eq!(get(&emulator, "/openai/v1/models/gpt-none").await.0, 404);
}

/// Several providers list their models at one path; the headers of the official clients tell them apart.
#[tokio::test]
async fn a_provider_is_known_by_its_headers() {
    let emulator = Emulator::start(0).await.expect("a port");
    let first = |headers: &'static str| {
        let emulator = &emulator;
        async move { get_with(emulator, "/v1/models?pageSize=1&limit=1", headers).await.1 }
    };
    assert!(first("authorization: Bearer x\r\n").await.contains("owned_by"));
    assert!(first("anthropic-version: 2023-06-01\r\nauthorization: Bearer x\r\n").await.contains("max_input_tokens"));
    assert!(first("anthropic-version: 2023-06-01\r\nx-api-key: x\r\n").await.contains("has_more"));
    assert!(first("x-goog-api-key: x\r\n").await.contains("inputTokenLimit"));
}

/// What goes wrong with a list costs nothing of what was known.
#[tokio::test]
async fn a_provider_that_gives_no_list_leaves_what_was_known() {
    let emulator = Emulator::start(0).await.expect("a port");
    for trouble in ["401", "500", "page", "cut", "endless", "garbled"] {
        let mut store = Store::in_memory();
        let cold = discover(&emulator, &mut store, "anthropic", trouble).await;
        assert_eq!((cold.source, codes(&cold)), (RowSource::Static, vec!["not-asked"]), "{trouble}");
        assert_eq!(cold.rows.len(), Catalog::built_in().models_of("anthropic").count());
        let good = discover(&emulator, &mut store, "anthropic", "").await;
        let warm = discover(&emulator, &mut store, "anthropic", trouble).await;
        assert_eq!((warm.source, codes(&warm)), (RowSource::Kept, vec!["not-asked"]), "{trouble}");
        assert_eq!(warm.rows, good.rows);
    }
    let mut store = Store::in_memory();
    assert_eq!(discover(&emulator, &mut store, "anthropic", "503-1").await.source, RowSource::Fetched, "asked again");
    assert_eq!(discover(&emulator, &mut store, "anthropic", "slow").await.source, RowSource::Fetched);
}

/// A server that answers each connection with the next body, and then with an error.
async fn pages(bodies: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut bodies = bodies.iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let (status, body) = bodies.next().map_or((404, "{}"), |body| (200, *body));
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

const FIRST: &str = r#"{"data": [{"type": "model", "id": "claude-one"}], "has_more": true, "last_id": "claude-one"}"#;
const LAST: &str = r#"{"data": [{"type": "model", "id": "claude-two"}], "has_more": false, "last_id": "claude-two"}"#;

/// A list that breaks off is not authoritative, and does not take the place of one that is.
#[tokio::test]
async fn part_of_a_list_does_not_replace_a_whole_one() {
    let provider = provider("anthropic");
    let address = "http://127.0.0.1:9";
    let mut store = Store::in_memory();
    let listing = client(provider, &pages(&[FIRST]).await).list_models(provider).await.expect("a part");
    assert!(listing.models.len() == 1 && listing.cut.is_some(), "{listing:?}");
    let learn = |store: &mut Store, listing: &polywire::Listing| {
        let said = (listing.models.as_slice(), listing.cut.as_deref());
        store.save(Catalog::built_in(), provider, address, said, &options(Network::Always))
    };
    let part = learn(&mut store, &listing);
    assert_eq!((part.source, codes(&part)), (RowSource::Fetched, vec!["list-cut"]));
    let recalled = store.recall(Catalog::built_in(), provider, address, &options(Network::Never));
    assert_eq!(recalled.source, RowSource::Merged, "a part is never taken as it is");
    assert_eq!(recalled.rows, part.rows);
    let whole = client(provider, &pages(&[FIRST, LAST]).await).list_models(provider).await.expect("the whole");
    assert_eq!((whole.models.len(), &whole.cut), (2, &None));
    let whole = learn(&mut store, &whole);
    let again = learn(&mut store, &listing);
    assert_eq!((again.source, codes(&again)), (RowSource::Kept, vec!["list-cut"]));
    assert_eq!(again.rows, whole.rows);
}

#[tokio::test]
async fn a_list_that_does_not_end_is_cut() {
    let provider = provider("anthropic");
    let endless: &'static [&'static str] = &[FIRST; 100];
    let listing = client(provider, &pages(endless).await).list_models(provider).await.expect("a part");
    assert_eq!(listing.cut.as_deref(), Some("it has too many pages or models"));
    assert!(listing.models.len() < 10);
}

/// Plain HTTP goes to this machine only, and no key goes anywhere else by it.
#[tokio::test]
async fn a_list_is_asked_for_over_https_or_on_this_machine() {
    let provider = provider("anthropic");
    let error = client(provider, "http://models.example/v1").list_models(provider).await.expect_err("an address");
    assert!(matches!(error, SendError::Address(_)), "{error}");
}
