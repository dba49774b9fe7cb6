//! Why a rule could not be evaluated, in the words of the engine that servers use.

use kube::core::cel::cel::{ExecutionError, Value as Cel};

const OVERLOAD: &str = "no such overload";

/// The whole sentence about a rule that could not be evaluated; the rule is named by its message or its text.
pub(super) fn sentence(error: &ExecutionError, rule: &str) -> String {
    let words = words(error);
    if words == OVERLOAD {
        return format!(
            "'{words}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        );
    }
    format!("{words} evaluating rule: {rule}")
}

fn words(error: &ExecutionError) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what else goes wrong is the engine's own business")]
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::UnsupportedIndex(..)
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnexpectedType { .. } => OVERLOAD.to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { function, message } => of_function(function, message),
        other => other.to_string(),
    }
}

fn of_function(function: &str, message: &str) -> String {
    let into = match function {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        "int" | "uint" | "double" | "bool" => function,
        "quantity" => {
            return "quantities must match the regular expression \
                    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned();
        }
        _ => return message.to_owned(),
    };
    format!("type conversion error from 'string' to '{into}'")
}
