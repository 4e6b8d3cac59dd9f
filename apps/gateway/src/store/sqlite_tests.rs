//! Tests of the store in `SQLite`.

use super::super::{LedgerRow, OnFailure, Spent};
use super::Sqlite;

fn row(id: &str, outcome: &str, cost_nanos: i64) -> LedgerRow {
    LedgerRow {
        id: id.to_owned(),
        received_at: 86_400_000,
        key: "k".to_owned(),
        outcome: outcome.to_owned(),
        cost_nanos: Some(cost_nanos),
        ..LedgerRow::default()
    }
}

async fn total(store: &Sqlite) -> i64 {
    store.spent(0, 0, None).await.expect("sums").first().map_or(0, |spent| spent.total)
}

/// R-G4: exactly once, whatever is repeated.
#[tokio::test]
async fn r_g4_a_request_is_counted_once() {
    let store = Sqlite::in_memory().expect("a store");
    store.append(row("a", "open", 5), OnFailure::Keep).await.expect("written");
    assert_eq!(total(&store).await, 5);
    for cost in [7, 7, 9] {
        store.append(row("a", "answered", cost), OnFailure::Keep).await.expect("written");
    }
    store.append(row("a", "open", 100), OnFailure::Keep).await.expect("written");
    assert_eq!(total(&store).await, 7);
    let expected = [Spent { key: "k".to_owned(), day: 0, month: 7, total: 7 }];
    for key in [None, Some("k")] {
        assert_eq!(store.spent(86_400_001, 0, key).await.expect("sums"), expected);
    }
    assert_eq!(store.spent(0, 0, Some("other")).await.expect("sums"), []);
    let usage = store.usage(0, Some("k".to_owned())).await.expect("sums");
    assert_eq!((usage.len(), usage[0].day.as_str(), usage[0].requests), (1, "1970-01-02", 1));
}

/// A store that fails keeps the rows of requests that were answered, and forgets those of requests that are refused.
#[tokio::test]
async fn r_g4_rows_of_refused_requests_are_not_written_later() {
    let store = Sqlite::in_memory().expect("a store");
    let rename = |from: &'static str, to: &'static str| {
        store.run(move |connection| connection.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}")))
    };
    rename("requests", "away").await.expect("renamed");
    assert!(store.append(row("kept", "answered", 3), OnFailure::Keep).await.is_err());
    assert!(store.append(row("refused", "answered", 100), OnFailure::Discard).await.is_err());
    assert!(store.is_failing());
    rename("away", "requests").await.expect("renamed");
    store.append(row("next", "answered", 4), OnFailure::Discard).await.expect("written");
    assert!(!store.is_failing());
    assert_eq!(total(&store).await, 7);
}

/// A row whose fate was not known may have been written; the refusal of its request replaces it.
#[tokio::test]
async fn r_g4_a_refusal_replaces_what_may_have_been_written() {
    let store = Sqlite::in_memory().expect("a store");
    store.append(row("a", "answered", 5), OnFailure::Discard).await.expect("written");
    store.append(LedgerRow { cost_nanos: None, ..row("a", "refused", 0) }, OnFailure::Keep).await.expect("written");
    assert_eq!(total(&store).await, 0);
}
