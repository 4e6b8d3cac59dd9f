//! Credentials of AWS and Google Cloud from files, with every server on loopback.

use std::fs;
use std::path::PathBuf;

use polywire::client::{AwsCredentials, Credential, Credentials as _, GcpCredentials, SigningKey};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polywire-credentials-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_profile_of_an_aws_file_signs() {
    let file = Scratch::new(
        "aws",
        "[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n\
         [work]\nregion = eu-central-1\naws_access_key_id = AKID\naws_secret_access_key = hidden\naws_session_token = passing\n",
    );
    let credentials = AwsCredentials::from_file(&file.0, "work").await.unwrap();
    let key = SigningKey::new("AKID", "hidden".into(), "eu-central-1").with_session("passing".into());
    for _ in 0..2 {
        assert_eq!(credentials.credential().await.unwrap(), Credential::Signing(key.clone()));
    }
    let shown = format!("{credentials:?}");
    assert!(!shown.contains("hidden") && !shown.contains("passing"), "{shown}");
}

#[tokio::test]
async fn an_aws_profile_without_a_region_or_key_is_an_error() {
    let file = Scratch::new("aws-empty", "[default]\naws_access_key_id = AKID\n\n[work]\nregion = eu-central-1\n");
    let error = AwsCredentials::from_file(&file.0, "default").await.unwrap_err();
    assert_eq!(error.to_string(), "the AWS configuration has no region");
    let credentials = AwsCredentials::from_file(&file.0, "work").await.unwrap();
    assert!(credentials.credential().await.is_err());
}

#[tokio::test]
async fn a_google_service_account_gets_one_token_until_it_expires() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let account = json!({
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "1",
        "private_key": include_str!("../data/service-account.pem"),
        "client_email": "robot@project.iam.gserviceaccount.com",
        "client_id": "1",
        "auth_uri": "http://127.0.0.1/auth",
        "token_uri": format!("http://{}/token", listener.local_addr().unwrap()),
        "auth_provider_x509_cert_url": "http://127.0.0.1/certs",
        "client_x509_cert_url": "http://127.0.0.1/cert",
    });
    let file = Scratch::new("gcp", &account.to_string());
    let credentials = GcpCredentials::from_file(&file.0).unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !String::from_utf8_lossy(&asked).contains("assertion=") {
            let read = socket.read_buf(&mut asked).await.unwrap();
            assert_ne!(read, 0, "the request is complete");
        }
        let body = json!({"access_token": "passing", "expires_in": 3600, "token_type": "Bearer"}).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        socket.write_all((head + &body).as_bytes()).await.unwrap();
        // The listener is dropped, so that a second request would fail.
        String::from_utf8(asked).unwrap()
    });
    for _ in 0..2 {
        assert_eq!(credentials.credential().await.unwrap(), Credential::Bearer("passing".into()));
    }
    let asked = server.await.unwrap();
    assert!(asked.starts_with("POST /token HTTP/1.1\r\n"), "{asked}");
}
