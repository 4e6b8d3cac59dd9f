//! What goes wrong between client and provider: a named error each, in bounded time and memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use polywire::wire::{Delta, Event, Message, Request};
use polywire::{Client, ClientOptions, Secret, SendError};
use polywire_emulator::Emulator;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

use super::script::{FIRST_EVENT, STREAM, Script, WORDS, answer, chat, say, soon};

fn hello() -> Request {
    Request::new("", vec![Message::user("Hello")])
}

/// The text of the events that came, and how it ended.
async fn streamed(client: &Client) -> (String, Result<String, SendError>) {
    let mut answer = client.stream(&hello(), &chat());
    let mut text = String::new();
    while let Some(Ok(event)) = answer.next().await {
        if let Event::Delta { delta: Delta::Text(more), .. } = event {
            text.push_str(&more);
        }
    }
    (text, answer.finish().await.map(|done| done.response.text()))
}

#[tokio::test]
async fn an_emulator_that_dies_mid_stream_is_a_cut() {
    let emulator = Emulator::start(0).await.expect("a port");
    let model = chat();
    let client = super::client(&emulator, &model, "slow");
    let mut answer = client.stream(&hello(), &model);
    assert!(answer.next().await.is_some(), "it begins");
    drop(emulator);
    while answer.next().await.is_some() {}
    let error = answer.finish().await.expect_err("the emulator is gone");
    assert!(matches!(error, SendError::Cut(_)), "{error}");
}

/// Once something was shown, the answer is not asked for again; a call of it is never complete.
#[tokio::test]
async fn a_stream_that_is_cut_keeps_what_came() {
    let script = Script::start(|mut stream, _| async move {
        say(&mut stream, STREAM).await;
        say(&mut stream, FIRST_EVENT).await;
    })
    .await;
    let (text, ended) = streamed(&script.client(soon())).await;
    let error = ended.expect_err("it was cut");
    assert_eq!((text.as_str(), script.count()), ("Hel", 1));
    assert!(matches!(&error, SendError::Cut(partial) if partial.text() == "Hel"), "{error}");
    assert_eq!(error.to_string(), "the response ended before it was complete");
}

/// Nobody saw it: a stream that is put together may be asked for again.
#[tokio::test]
async fn a_cut_that_nobody_saw_is_retried() {
    let script = Script::start(|mut stream, number| async move {
        say(&mut stream, STREAM).await;
        say(&mut stream, FIRST_EVENT).await;
        if number == 1 {
            say(&mut stream, &FIRST_EVENT.replace("\"Hel\"", "\"lo\"").replace("null}]", "\"stop\"}]")).await;
            say(&mut stream, "data: [DONE]\n\n").await;
        }
    })
    .await;
    let request = Request { stream: true, ..hello() };
    let done = script.client(soon()).complete(&request, &chat()).await.expect("the second time");
    assert_eq!((done.response.text().as_str(), done.retries), ("Hello", 1));
}

#[tokio::test]
async fn a_body_that_is_cut_is_a_cut() {
    let script = Script::start(|mut stream, _| async move {
        let whole = answer("200 OK", "content-type: application/json\r\n", WORDS);
        say(&mut stream, whole.get(..whole.len() - 20).unwrap_or_default()).await;
    })
    .await;
    let error = script.client(soon()).complete(&hello(), &chat()).await.expect_err("half a body");
    assert!(matches!(error, SendError::Cut(_)), "{error}");
    assert_eq!(script.count(), 2, "it was asked for again");
}

/// Options with short timeouts: 150 ms for the first byte and every silence.
fn quick() -> ClientOptions {
    soon().with_timeout(QUICK).with_retries(0)
}

const QUICK: Duration = Duration::from_millis(150);

/// One byte at a time for ever is no silence: only the deadline ends it.
#[tokio::test]
async fn bytes_that_drip_end_at_the_deadline() {
    for stream in [false, true] {
        let script = Script::start(|mut stream, _| async move {
            say(&mut stream, STREAM).await;
            while stream.write_all(b" ").await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let request = Request { stream, ..hello() };
        let began = Instant::now();
        let total = quick().with_deadline(Duration::from_millis(400)).with_retries(9);
        let error = script.client(total).complete(&request, &chat()).await.expect_err("too slow");
        assert_eq!(error, SendError::Deadline(Duration::from_millis(400)));
        assert!(began.elapsed() > QUICK && began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}

/// A healthy stream may take longer than any of its silences may.
#[tokio::test]
async fn a_stream_that_goes_on_is_not_cut() {
    let script = Script::start(|mut stream, _| async move {
        say(&mut stream, STREAM).await;
        for _ in 0..10 {
            say(&mut stream, FIRST_EVENT).await;
            sleep(Duration::from_millis(50)).await;
        }
        say(&mut stream, &FIRST_EVENT.replace("null}]", "\"stop\"}]")).await;
        say(&mut stream, "data: [DONE]\n\n").await;
    })
    .await;
    let (text, ended) = streamed(&script.client(quick())).await;
    assert_eq!((text, ended), ("Hel".repeat(11), Ok("Hel".repeat(11))));
}

#[tokio::test]
async fn silence_is_a_timeout_by_its_place() {
    let before = Script::start(|stream, _| async move {
        sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    let within = Script::start(|mut stream, _| async move {
        say(&mut stream, STREAM).await;
        say(&mut stream, FIRST_EVENT).await;
        sleep(Duration::from_secs(30)).await;
    })
    .await;
    for stream in [false, true] {
        let request = Request { stream, ..hello() };
        let error = before.client(quick()).complete(&request, &chat()).await.expect_err("silence");
        assert_eq!(error, SendError::FirstByteTimeout(QUICK));
        let error = within.client(quick()).complete(&request, &chat()).await.expect_err("silence");
        assert_eq!(error, SendError::IdleTimeout(QUICK));
    }
}

/// A provider that is busy holds up nobody who asks another one.
#[tokio::test]
async fn concurrency_is_counted_by_provider() {
    let busy = Script::start(|stream, _| async move {
        sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    let other = Script::start(|mut stream, _| async move {
        say(&mut stream, &answer("200 OK", "content-type: application/json\r\n", WORDS)).await;
    })
    .await;
    let client = busy.client(soon().with_max_concurrency(1));
    let client = client.with_base_url("groq", &other.url).with_key("groq", "gsk-very-secret");
    let mut held = client.stream(&hello(), &chat());
    let waiting = tokio::time::timeout(Duration::from_millis(100), held.next()).await;
    assert!(waiting.is_err() && busy.count() == 1, "the only permit of one provider is taken");
    let model = super::model("groq/llama-3.3-70b-versatile");
    let done = client.complete(&hello(), &model).await.expect("words of the other");
    assert_eq!(done.response.text(), "Hello");
}

/// A body of a gigabyte is not read beyond the bound: the server cannot get rid of it.
#[tokio::test]
async fn a_gigabyte_is_too_large() {
    const GIGABYTE: usize = 1 << 30;
    let announced = format!("\r\ncontent-length: {GIGABYTE}\r\n\r\n");
    let announced: &'static str = announced.leak();
    for (stream, length) in [(false, "\r\n\r\n"), (true, "\r\n\r\n"), (false, announced), (true, announced)] {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let script = Script::start(move |mut stream, _| {
            let count = Arc::clone(&count);
            async move {
                say(&mut stream, &STREAM.replace("\r\n\r\n", length)).await;
                let filler = vec![b' '; 1 << 16];
                while count.load(Ordering::SeqCst) < GIGABYTE && stream.write_all(&filler).await.is_ok() {
                    count.fetch_add(filler.len(), Ordering::SeqCst);
                }
            }
        })
        .await;
        let most = 8 << 20;
        let client = script.client(soon().with_max_response_bytes(most));
        let error = client.complete(&Request { stream, ..hello() }, &chat()).await.expect_err("too large");
        assert_eq!(error, SendError::TooLarge(most));
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < most + (32 << 20), "{sent} bytes left the server");
        assert_eq!(script.count(), 1, "it is not asked for again");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_unreadable() {
    for stream in [false, true] {
        let script = Script::start(|mut stream, _| async move {
            say(&mut stream, STREAM).await;
            let _ = stream.write_all(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n").await;
        })
        .await;
        let client = script.client(soon());
        let error = client.complete(&Request { stream, ..hello() }, &chat()).await.expect_err("no text");
        assert!(matches!(error, SendError::Unreadable { .. }), "{error}");
        assert_eq!(script.count(), 1, "it is not asked for again");
    }
}

#[tokio::test]
async fn a_page_is_unreadable_and_says_what_it_is() {
    for stream in [false, true] {
        let script = Script::start(|mut stream, _| async move {
            let page = answer("200 OK", "content-type: text/html; charset=utf-8\r\n", "<html>Sign in</html>");
            say(&mut stream, &page).await;
        })
        .await;
        let client = script.client(soon());
        let error = client.complete(&Request { stream, ..hello() }, &chat()).await.expect_err("a page");
        let told = error.to_string();
        assert!(told.starts_with("the response (text/html; charset=utf-8) cannot be decoded"), "{told}");
        assert!(!told.contains("very-secret"));
    }
}

#[tokio::test]
async fn a_wait_that_is_a_date_is_kept() {
    let script = Script::start(|mut stream, number| async move {
        let soon = std::time::SystemTime::now() + Duration::from_secs(2);
        let wait = format!("retry-after: {}\r\n", httpdate::fmt_http_date(soon));
        let crowded = answer("429 Too Many Requests", &wait, r#"{"error":{"message":"slow down"}}"#);
        let words = answer("200 OK", "content-type: application/json\r\n", WORDS);
        say(&mut stream, if number == 0 { &crowded } else { &words }).await;
    })
    .await;
    let began = Instant::now();
    let done = script.client(soon()).complete(&hello(), &chat()).await.expect("the second time");
    assert_eq!(done.retries, 1);
    // Dates have whole seconds.
    assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
}

/// One exchange that is told to wait makes the others wait too.
#[tokio::test]
async fn a_wait_is_for_all() {
    let script = Script::start(|mut stream, number| async move {
        let crowded = answer("429 Too Many Requests", "retry-after: 1\r\n", r#"{"error":{"message":"slow down"}}"#);
        let words = answer("200 OK", "content-type: application/json\r\n", WORDS);
        say(&mut stream, if number == 0 { &crowded } else { &words }).await;
    })
    .await;
    let client = script.client(soon().with_max_concurrency(1));
    let one = tokio::spawn({
        let client = client.clone();
        async move { client.complete(&hello(), &chat()).await.map(|done| done.retries) }
    });
    while script.count() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    let other = client.complete(&hello(), &chat()).await.expect("words");
    assert!(began.elapsed() > Duration::from_millis(800), "{:?}", began.elapsed());
    assert_eq!((other.retries, one.await.expect("a task")), (0, Ok(1)));
}

#[tokio::test]
async fn no_more_exchanges_at_once_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    let script = Script::start(move |mut stream, _| {
        let (now, most) = (Arc::clone(&counted), Arc::clone(&seen));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(30)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            say(&mut stream, &answer("200 OK", "content-type: application/json\r\n", WORDS)).await;
        }
    })
    .await;
    let client = script.client(soon().with_max_concurrency(3));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let client = client.clone();
        tasks.spawn(async move { client.complete(&hello(), &chat()).await.is_ok() });
    }
    assert!(tasks.join_all().await.into_iter().all(|fine| fine));
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

/// A future or a stream that is dropped ends the exchange: the server sees the connection close.
#[tokio::test]
async fn dropping_cancels() {
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    let script = Script::start(move |mut stream, _| {
        let count = Arc::clone(&count);
        async move {
            say(&mut stream, STREAM).await;
            say(&mut stream, FIRST_EVENT).await;
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            count.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let client = script.client(soon());
    let mut answer = client.stream(&hello(), &chat());
    assert!(answer.next().await.is_some());
    drop(answer);
    let request = hello();
    let model = chat();
    let whole = tokio::time::timeout(Duration::from_millis(100), client.complete(&request, &model));
    assert!(whole.await.is_err(), "it never ends");
    let began = Instant::now();
    while closed.load(Ordering::SeqCst) < 2 {
        assert!(began.elapsed() < Duration::from_secs(5), "the connections are still open");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn nobody_there_is_a_connection_error_without_the_key() {
    let options = ClientOptions::default().with_retries(0);
    let client = Client::with_options(options).expect("a client").with_base_url("openai", "http://127.0.0.1:9/v1");
    let client = client.with_key("openai", Secret::new("sk-very-secret"));
    let error = client.complete(&hello(), &chat()).await.expect_err("nobody");
    assert!(matches!(error, SendError::Connection(_)), "{error}");
    assert!(!format!("{error} {error:?} {client:?}").contains("very-secret"));
    let client = client.with_header("proxy-authorization", "Basic very-secret");
    let client = client.with_base_url("openai", "http://me:very-secret@example.com/v1");
    let error = client.complete(&hello(), &chat()).await.expect_err("in the clear");
    assert_eq!(
        error.to_string(),
        "`example.com/v1/chat/completions`: only https, or http to this machine, unless `plain-http` allows more"
    );
    assert!(!format!("{error:?}").contains("very-secret"));
    assert!(!format!("{client:?}").contains("very-secret"));
}
