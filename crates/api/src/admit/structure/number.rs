//! Bounds of numbers. Definitions carry bounds as floats; whole values are compared as integers all the same.

use serde_json::{Number, Value};

use super::super::field::flag;
use super::super::go;
use super::found::{Fault, Found};
use super::types;

/// Whether a float stands for an integer, near enough, that JSON can carry.
pub(super) fn is_whole(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    const NEAR: f64 = 1e-9;
    if !float.is_finite() || float.abs() > LARGEST {
        return false;
    }
    let whole = float.trunc();
    #[expect(clippy::float_cmp, reason = "whole floats are equal to themselves without their fraction")]
    let exact = float == whole;
    exact || (float > 0.0 && whole > 0.0 && (float - whole) / (float + whole) < NEAR)
}

#[derive(Clone, Copy)]
enum Measure {
    Whole(i64),
    Float(f64),
}

impl Measure {
    fn of(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::MAX)), Self::Whole)
    }

    /// The limit in the kind of number that is measured; the fraction of a limit is lost on whole ones.
    fn limit(self, limit: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the server cuts limits in the same way")]
        match self {
            Self::Whole(_) => Self::Whole(limit as i64),
            Self::Float(_) => Self::Float(limit),
        }
    }

    fn float(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "the server loses it as well")]
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::Whole(whole) => whole.to_string(),
            Self::Float(float) => go::general(float),
        }
    }

    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one < other,
            (one, other) => one.float() < other.float(),
        }
    }

    fn is_multiple_of(self, factor: Self) -> bool {
        match (self, factor) {
            (Self::Whole(one), Self::Whole(factor)) => one % factor == 0,
            (one, factor) => {
                let factor = factor.float();
                is_whole(if factor < 1.0 { 1.0 / factor * one.float() } else { one.float() / factor })
            }
        }
    }
}

/// What a number is held to.
struct Range<'a> {
    of: &'a str,
    format: &'a str,
    path: &'a str,
}

impl Range<'_> {
    /// A number that its type cannot hold.
    fn overflow(&self, what: &str, measure: Measure) -> Option<Fault> {
        let text = match measure {
            Measure::Whole(whole) => whole.to_string(),
            Measure::Float(float) => float.to_string(),
        };
        let fits = match (self.of, self.format) {
            ("integer", "int32") => text.parse::<i32>().is_ok(),
            ("integer", _) => text.parse::<i64>().is_ok(),
            (_, "float") => measure.float().abs() <= f64::from(f32::MAX),
            _ => true,
        };
        let format =
            if self.format.is_empty() { "(default format)".to_owned() } else { format!("with format {}", self.format) };
        (!fits).then(|| Fault::nowhere(format!("{what} value must be of type {} {format} in {}", self.of, self.path)))
    }
}

pub(super) fn check(schema: &Value, number: &Number, path: &str) -> Found {
    let of = types::only(schema).filter(|of| matches!(*of, "integer" | "number")).unwrap_or_default();
    let format = if of.is_empty() { "" } else { types::format(schema).unwrap_or_default() };
    let range = Range { of, format, path };
    let measure = Measure::of(number);
    let mut found = Found::from(range.overflow("Checked", measure));
    for (keyword, what) in
        [("multipleOf", "MultipleOf"), ("minimum", "Minimum boundary"), ("maximum", "Maximum boundary")]
    {
        let Some(limit) = schema.get(keyword).and_then(Value::as_f64) else { continue };
        let strange = range.overflow(what, Measure::Float(limit));
        let (measure, limit) = if strange.is_some() {
            (Measure::Float(measure.float()), Measure::Float(limit))
        } else {
            (measure, measure.limit(limit))
        };
        found.merge(Found::from(strange));
        found.merge(Found::from(beyond(schema, keyword, measure, limit, path)));
    }
    found.matched();
    found
}

fn beyond(schema: &Value, keyword: &str, measure: Measure, limit: Measure, path: &str) -> Option<Fault> {
    let shown = limit.shown();
    let exclusive = |keyword: &str| flag(schema, keyword);
    let (fault, wish) = match keyword {
        "multipleOf" if limit.float() <= 0.0 => {
            let sentence = format!("factor MultipleOf declared for {path} must be positive: {shown}");
            return Some(Fault::invalid(path, &shown, sentence));
        }
        "multipleOf" => (!measure.is_multiple_of(limit), format!("a multiple of {shown}")),
        "minimum" if exclusive("exclusiveMinimum") => (!limit.is_below(measure), format!("greater than {shown}")),
        "minimum" => (measure.is_below(limit), format!("greater than or equal to {shown}")),
        _ if exclusive("exclusiveMaximum") => (!measure.is_below(limit), format!("less than {shown}")),
        _ => (limit.is_below(measure), format!("less than or equal to {shown}")),
    };
    fault.then(|| Fault::invalid(path, &measure.shown(), format!("{path} in body should be {wish}")))
}
