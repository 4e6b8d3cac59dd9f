//! Compares names without case, accents, separators and white space.

/// The spelling that all spellings of a name share.
pub(crate) fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for char in name.chars() {
        push_plain(char, &mut folded, char::is_alphanumeric);
    }
    if folded.is_empty() { name.trim().to_owned() } else { folded }
}

/// Lower case without accents; everything else stays.
pub(crate) fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for char in text.chars() {
        push_plain(char, &mut folded, |_| true);
    }
    folded
}

fn push_plain(char: char, out: &mut String, keeps: impl Fn(char) -> bool) {
    if char.is_ascii() {
        if keeps(char) {
            out.push(char.to_ascii_lowercase());
        }
        return;
    }
    for lower in char.to_lowercase() {
        match plain(lower) {
            Some(plain) => out.push_str(plain),
            None if keeps(lower) => out.push(lower),
            None => {}
        }
    }
}

/// The letters that an accented Latin letter is written with where accents are missing.
fn plain(char: char) -> Option<&'static str> {
    Some(match char {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | 'ạ' | 'ả' => "a",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'ẹ' | 'ẻ' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => "i",
        'ĵ' => "j",
        'ķ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ọ' | 'ỏ' => "o",
        'ŕ' | 'ŗ' | 'ř' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        '\u{300}'..='\u{36f}' => "",
        _ => return None,
    })
}

/// How many letters differ, at most `limit`; more gives `None`.
pub(crate) fn distance(one: &str, two: &str, limit: usize) -> Option<usize> {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    if one.len().abs_diff(two.len()) > limit || one.len() > 64 {
        return None;
    }
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (index, left) in one.iter().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(&two) {
            let above = *cell;
            before = (diagonal + usize::from(left != right)).min(above + 1).min(before + 1);
            diagonal = above;
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().filter(|distance| *distance <= limit)
}
