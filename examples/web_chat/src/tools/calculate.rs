//! Calculates.

use std::iter::Peekable;
use std::str::Chars;

use schemars::JsonSchema;
use serde::Deserialize;
use turnstate::tool::{AgentTool, tool_fn};

#[derive(Deserialize, JsonSchema)]
struct Calculate {
    /// Numbers with + - * / and parentheses, as `2 * (3 + 4)`.
    expression: String,
}

pub(crate) fn calculate() -> AgentTool {
    tool_fn("calculate", "Calculates the value of an expression.", async |args: Calculate, _| {
        let value = evaluate(&args.expression)?;
        Ok(format!("{value}"))
    })
}

/// Deeper parentheses are refused, so that none can exhaust the stack.
const DEEPEST: u32 = 64;

/// The value of an expression, or what is wrong with it, for the model.
fn evaluate(expression: &str) -> Result<f64, String> {
    let mut reader = Expression { chars: expression.chars().peekable(), depth: 0 };
    let value = reader.sum()?;
    match reader.next() {
        Some(left) => Err(format!("There is a `{left}` where the expression could end.")),
        None if value.is_finite() => Ok(value),
        None => Err("The value is not a finite number: look for a division by zero.".to_owned()),
    }
}

struct Expression<'a> {
    chars: Peekable<Chars<'a>>,
    depth: u32,
}

impl Expression<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|char| char.is_whitespace()).is_some() {}
        self.chars.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.chars.next()
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign @ ('+' | '-' | '−')) = self.peek() {
            self.next();
            let right = self.product()?;
            value += if sign == '+' { right } else { -right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.factor()?;
        while let Some(sign @ ('*' | '×' | '/' | '÷')) = self.peek() {
            self.next();
            let right = self.factor()?;
            value = if matches!(sign, '*' | '×') { value * right } else { value / right };
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("The expression is nested deeper than {DEEPEST} levels."));
        }
        let value = match self.peek() {
            Some('-' | '−') => {
                self.next();
                -self.factor()?
            }
            Some('(') => {
                self.next();
                let value = self.sum()?;
                match self.next() {
                    Some(')') => value,
                    _ => return Err("A parenthesis is not closed.".to_owned()),
                }
            }
            Some('0'..='9' | '.') => self.number()?,
            Some(other) => return Err(format!("There is a `{other}` where a number should be.")),
            None => return Err("The expression ends where a number should be.".to_owned()),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut digits = String::new();
        while let Some(digit) = self.chars.next_if(|char| char.is_ascii_digit() || *char == '.') {
            digits.push(digit);
        }
        digits.parse().map_err(|_| format!("`{digits}` is no number."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values() {
        let table = [
            ("1", 1.0),
            (" 17 * 23 + 4 ", 395.0),
            ("2 + 3 * 4 - 5", 9.0),
            ("2*(3+4)", 14.0),
            ("8 / 4 / 2", 1.0),
            ("-(1 - 3) * -.5", -1.0),
            ("7 × 6 ÷ 2 − 1", 20.0),
        ];
        for (expression, value) in table {
            assert_eq!(evaluate(expression), Ok(value), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told_in_words() {
        let deep = "(".repeat(100_000);
        let table = [
            ("", "The expression ends where a number should be."),
            ("1 +", "The expression ends where a number should be."),
            ("(1", "A parenthesis is not closed."),
            ("1 2", "There is a `2` where the expression could end."),
            ("x", "There is a `x` where a number should be."),
            ("1.2.3", "`1.2.3` is no number."),
            ("1 / 0", "The value is not a finite number: look for a division by zero."),
            (&deep, "The expression is nested deeper than 64 levels."),
        ];
        for (expression, error) in table {
            assert_eq!(evaluate(expression), Err(error.to_owned()));
        }
    }
}
