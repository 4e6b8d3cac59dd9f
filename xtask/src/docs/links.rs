//! Links between pages: the file and the heading exist.

use super::Page;
use super::markdown::{anchors, links, prose};
use crate::steps::root;

/// Links that lead nowhere. Addresses of the network are not tried.
pub(super) fn faults(pages: &[Page]) -> Vec<String> {
    pages.iter().flat_map(|page| faults_of_page(page, pages)).collect()
}

fn faults_of_page(page: &Page, pages: &[Page]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in prose(&page.text) {
        for link in links(line).filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            if !leads_somewhere(page, link, pages) {
                faults.push(format!("{}:{number}: `{link}` leads nowhere", page.path));
            }
        }
    }
    faults
}

fn leads_somewhere(page: &Page, link: &str, pages: &[Page]) -> bool {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.path.clone() } else { resolve(&page.path, path) };
    let Some(anchor) = anchor else { return root().join(&path).exists() };
    let target = pages.iter().find(|other| other.path == path);
    target.is_some_and(|target| anchors(&target.text).iter().any(|own| own == anchor))
}

/// A path relative to a page, from the root of the repository.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Page, faults, resolve};

    #[test]
    fn paths_are_relative_to_their_page() {
        assert_eq!(resolve("docs/a/b.md", "../c.md"), "docs/c.md");
        assert_eq!(resolve("README.md", "docs/c.md"), "docs/c.md");
    }

    #[test]
    fn a_link_needs_its_file_and_heading() {
        let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
        let text = "[a](b.md#one) [b](b.md#two) [c](#here) [d](none.md) [e](https://example.com/x)\n## Here\n";
        let pages = [page("docs/a.md", text), page("docs/b.md", "## One\n")];
        assert_eq!(faults(&pages), ["docs/a.md:1: `b.md#two` leads nowhere", "docs/a.md:1: `none.md` leads nowhere"]);
    }
}
