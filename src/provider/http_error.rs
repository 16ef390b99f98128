//! Error statuses as text for people, and as data for hosts that wait and ask again.

use std::time::Duration;

use serde_json::{Map, Value};

use super::transport::HttpHeaders;
use crate::clock::{Clock, SystemClock};
use crate::error_text::excerpt;
use crate::message::{Diagnostic, DiagnosticCode, DiagnosticError};
use crate::model::Failure;

/// The longest text of a server that is repeated, in bytes.
const LONGEST: usize = 2_000;

/// The failed answer for an error status: the status, the server's own words, and the delay it asks for.
///
/// The status and the delay are also in a diagnostic of the kind `http_status`, for hosts that wait and ask again:
/// `error.code` is the status, `details.retryAfterMs` the delay in milliseconds.
pub(super) fn failure(who: &str, status: u16, headers: &HttpHeaders, body: &[u8]) -> Failure {
    let body = String::from_utf8_lossy(body);
    let json: Option<Value> = serde_json::from_str(&body).ok();
    let delay = delay(headers).or_else(|| json.as_ref().and_then(delay_in_body));
    let words = match &json {
        Some(json) => Some(words_in(json).unwrap_or_else(|| json.to_string())),
        None => plain_words(&body),
    };
    let mut message = format!("{who} answered {status}");
    if let Some(name) = status_name(status) {
        message = format!("{message} {name}");
    }
    if let Some(words) = words {
        message = format!("{message}: {}", excerpt(&words, LONGEST));
    }
    if let Some(delay) = delay {
        message = format!("{message} (it asks to wait {} s before the next request)", delay.as_secs_f64());
    }
    let mut failure = Failure::new(message);
    failure.metadata.diagnostics.push(diagnostic(status, delay));
    failure
}

fn diagnostic(status: u16, delay: Option<Duration>) -> Diagnostic {
    let mut diagnostic = Diagnostic::new("http_status", SystemClock::new().now());
    diagnostic.error = Some(DiagnosticError {
        message: status_name(status).unwrap_or("error status").to_owned(),
        code: Some(DiagnosticCode::Number(status.into())),
        ..DiagnosticError::default()
    });
    diagnostic.details = delay.map(|delay| {
        let milliseconds = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        Map::from_iter([("retryAfterMs".to_owned(), milliseconds.into())])
    });
    diagnostic
}

/// What a server says in an error body: the shapes that are in use. `None` for any other.
pub(crate) fn words_in(json: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    match json {
        Value::String(_) => text(json),
        // Some servers put the error into a list of one.
        Value::Array(list) => list.first().and_then(words_in),
        Value::Object(fields) => ["error", "message", "detail", "error_message"]
            .iter()
            .filter_map(|name| fields.get(*name))
            .find_map(|value| if value.is_object() { words_in(value) } else { text(value) }),
        _ => None,
    }
}

/// A body that is no JSON. A page made for browsers says no more than the status.
fn plain_words(body: &str) -> Option<String> {
    let body = body.trim();
    (!body.is_empty() && !body.starts_with('<')).then(|| body.to_owned())
}

/// The delay in the headers: milliseconds, seconds, or a date next to the server's own.
fn delay(headers: &HttpHeaders) -> Option<Duration> {
    if let Some(milliseconds) = headers.get("retry-after-ms").and_then(|value| value.trim().parse().ok()) {
        return duration(milliseconds, 1_000.0);
    }
    let after = headers.get("retry-after")?.trim();
    match after.parse::<f64>() {
        Ok(seconds) => duration(seconds, 1.0),
        Err(_) => {
            let now = seconds_of_date(headers.get("date")?)?;
            Some(Duration::from_secs(seconds_of_date(after)?.saturating_sub(now)))
        }
    }
}

/// The delay that Google's servers put into the body: `"retryDelay": "20s"` in one of the error's details.
fn delay_in_body(json: &Value) -> Option<Duration> {
    let error = json.get(0).unwrap_or(json).get("error")?;
    let delay = error.get("details")?.as_array()?.iter().find_map(|detail| detail.get("retryDelay"))?;
    duration(delay.as_str()?.strip_suffix('s')?.parse().ok()?, 1.0)
}

fn duration(amount: f64, per_second: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(amount / per_second).ok()
}

/// The seconds since 1970 of a date as HTTP writes it, `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds_of_date(date: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = date.split_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = u64::try_from(MONTHS.find(words.next()?)? / 3 + 1).ok()?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    // Years that begin in March have their leap day at the end, so days before a month follow one formula.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let since_1970 = days.checked_sub(719_469)?;
    (hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?)
        .checked_add(since_1970 * 86_400)
}

fn status_name(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn said(status: u16, headers: &[(&str, &str)], body: &str) -> String {
        let headers = headers.iter().copied().collect();
        failure("the server", status, &headers, body.as_bytes()).message
    }

    #[test]
    fn the_servers_own_words_are_kept() {
        for (body, text) in [
            ("", "the server answered 500 Internal Server Error"),
            (r#"{"error":"boom"}"#, "the server answered 500 Internal Server Error: boom"),
            (
                r#"{"error":{"message":"boom","code":1}}"#,
                "the server answered 500 Internal Server Error: boom",
            ),
            (r#"[{"error":{"message":"boom"}}]"#, "the server answered 500 Internal Server Error: boom"),
            (
                r#"{"error":{"code":7},"message":"boom"}"#,
                "the server answered 500 Internal Server Error: boom",
            ),
            (r#"{"detail":1}"#, "the server answered 500 Internal Server Error: {\"detail\":1}"),
            ("boom\n", "the server answered 500 Internal Server Error: boom"),
            ("<html>502</html>", "the server answered 500 Internal Server Error"),
        ] {
            assert_eq!(said(500, &[], body), text, "{body}");
        }
        assert_eq!(said(418, &[], ""), "the server answered 418");
    }

    #[test]
    fn the_delay_that_a_server_asks_for_is_in_the_error() {
        let wait = |seconds| {
            format!(
                "the server answered 429 Too Many Requests (it asks to wait {seconds} s before the next request)"
            )
        };
        assert_eq!(said(429, &[("Retry-After", "20")], ""), wait("20"));
        assert_eq!(said(429, &[("retry-after-ms", "1500"), ("retry-after", "2")], ""), wait("1.5"));
        let dates =
            [("retry-after", "Fri, 01 Mar 2024 00:00:10 GMT"), ("date", "Thu, 29 Feb 2024 23:59:30 GMT")];
        assert_eq!(said(429, &dates, ""), wait("40"));
        for nonsense in ["soon", "-1", "NaN", "inf", "1e300", "Fri, 99 Foo 2024"] {
            assert_eq!(
                said(429, &[("retry-after", nonsense)], ""),
                "the server answered 429 Too Many Requests"
            );
        }
        let body = br#"{"error":{"message":"slow","details":[{"a":1},{"retryDelay":"0.5s"}]}}"#;
        let failure = failure("it", 429, &HttpHeaders::new(), body);
        assert_eq!(
            failure.message,
            "it answered 429 Too Many Requests: slow (it asks to wait 0.5 s before the next request)"
        );
        let diagnostic = failure.metadata.diagnostics.first().unwrap();
        assert_eq!(diagnostic.error.as_ref().unwrap().code, Some(DiagnosticCode::Number(429)));
        assert_eq!(
            Value::Object(diagnostic.details.clone().unwrap()),
            serde_json::json!({"retryAfterMs": 500})
        );
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(seconds_of_date("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
        assert_eq!(seconds_of_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds_of_date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds_of_date("now"), None);
    }
}
