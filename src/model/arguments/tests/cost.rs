//! Streaming looks at every byte a constant number of times, however small the fragments are.

use super::*;

/// Bytes looked at, in the text and in keys on the way to the open value, per byte of text.
#[track_caller]
fn work_per_byte(text: &str, size: usize) -> (usize, usize) {
    let mut arguments = ArgumentsBuilder::new();
    for piece in pieces(text, &[size]) {
        arguments.push(piece);
        assert!(arguments.value().is_some());
    }
    let (read, walked) = arguments.reader.work();
    (read.div_ceil(text.len()), walked.div_ceil(text.len()))
}

fn object(key: &str, value: &str) -> String {
    format!("{{\"{key}\":{value}}}")
}

/// Documents of one size in which each part of the reader has the most to do.
fn documents() -> Vec<(&'static str, String)> {
    const LENGTH: usize = 60_000;
    let many = |item: &str| format!("[{}]", vec![item; LENGTH / item.len()].join(","));
    let string = |contents: &str| format!("\"{}\"", contents.repeat(LENGTH / contents.len()));
    let nested = |item: &str| format!("{}{item}{}", "{\"key\":".repeat(90), "}".repeat(90));
    let long_key = "k".repeat(LENGTH);
    vec![
        ("plain string", object("a", &string("x"))),
        ("short escapes", object("a", &string("\\n"))),
        ("surrogate pairs", object("a", &string("\\ud83c\\udf89"))),
        ("halves of pairs", object("a", &string("\\ud83c"))),
        ("loose backslashes", object("a", &string("\\u00g"))),
        ("numbers", object("a", &many("1234567890"))),
        ("one long number", object("a", &format!("1.{}", "1".repeat(LENGTH)))),
        ("words", object("a", &many("false"))),
        ("white space", object("a", &format!("{}1", " ".repeat(LENGTH)))),
        ("objects", object("a", &many("{\"b\":[1,\"c\"]}"))),
        ("keys", format!("{{{}\"b\":1}}", (0..6000).map(|n| format!("\"key{n}\":1,")).collect::<String>())),
        ("deep string", nested(&string("x"))),
        ("deep objects", nested(&many("{\"b\":1}"))),
        ("long key before a string", object(&long_key, &string("x"))),
        ("long key before objects", object(&long_key, &many("{\"b\":1}"))),
    ]
}

#[test]
fn every_byte_is_looked_at_a_constant_number_of_times() {
    for (name, text) in documents() {
        for size in [1, 2, 7, 16, 1000, usize::MAX] {
            let (read, walked) = work_per_byte(&text, size);
            // An escape of six bytes is looked at with each of its bytes, and with six more if a second half may follow.
            assert!(read <= 13, "{name} in pieces of {size}: every byte was read {read} times");
            // Taking apart, finding, and putting together: three walks at most for what makes a walk worthwhile.
            assert!(walked <= 3 * 512, "{name} in pieces of {size}: {walked} bytes of keys per byte");
        }
    }
}

#[test]
fn twice_the_text_is_twice_the_work() {
    let work = |length: usize| {
        let mut arguments = builder("{\"path\":\"x\",\"content\":\"");
        for _ in 0..length {
            arguments.push("y");
        }
        arguments.reader.work()
    };
    let ((read, walked), (read_twice, walked_twice)) = (work(10_000), work(20_000));
    assert!(read_twice <= 2 * read && walked_twice <= 2 * walked);
}

#[test]
fn a_piece_of_plain_text_is_read_once_and_costs_one_walk() {
    let mut arguments = builder("{\"content\":\"");
    let (read, walked) = arguments.reader.work();
    arguments.push("sixteen letters.");
    assert_eq!(arguments.reader.work(), (read + 16, walked + "content".len()));
}

/// The value may lag behind the text by a 256th of the keys around it, and catches up at the end.
#[test]
fn only_keys_of_many_hundred_bytes_make_the_value_lag() {
    let lag = |key_length: usize| {
        let key = "k".repeat(key_length);
        let mut arguments = builder(&format!("{{\"{key}\":\""));
        (1..).find(|_| {
            arguments.push("x");
            arguments.value().unwrap()[&key] != json!("")
        })
    };
    assert_eq!([0, 511, 512, 2560].map(lag), [Some(1), Some(1), Some(2), Some(10)]);

    // Once the long key is left, there is nothing to wait for.
    let mut arguments = builder(&format!("{{\"{}\":[\"", "k".repeat(2560)));
    arguments.push("x\"],\"a\":\"y");
    arguments.push("z");
    assert_eq!(arguments.value().unwrap()["a"], "yz");

    let mut arguments = builder(&format!("{{\"{}\":\"", "k".repeat(2560)));
    arguments.push("x\"}");
    assert_eq!(arguments.finish().unwrap().values().next(), Some(&json!("x")));
}
