//! One rule: what it asks, and what a server says when the answer is no.

use std::cell::RefCell;

use kube::core::cel::cel::{Context, Program, Value as Cel};
use serde_json::Value;

use super::super::field::{Place, word};
use super::super::go;
use super::super::refusal::{Cause, Violation};
use super::values::Values;
use super::{fault, functions};

thread_local! {
    // Made once per thread: it knows every function, and functions are many.
    static FUNCTIONS: RefCell<Context<'static>> = RefCell::new(functions::all());
}

/// A compiled rule.
pub(super) struct Rule {
    program: Result<Program, String>,
    message_program: Option<Program>,
    /// The type that the schema gives to what the rule judges.
    of: String,
    text: String,
    message: String,
    reason: String,
    field_path: String,
    about_change: bool,
    old_is_optional: bool,
}

impl Rule {
    pub(super) fn compile(rule: &Value, of: &str) -> Self {
        let text = |key: &str| word(rule, key).unwrap_or_default().trim().to_owned();
        let program = Program::compile(word(rule, "rule").unwrap_or_default()).map_err(|error| error.to_string());
        let about_change = program.as_ref().is_ok_and(|program| program.references().has_variable("oldSelf"));
        Self {
            message_program: word(rule, "messageExpression").and_then(|text| Program::compile(text).ok()),
            of: of.to_owned(),
            text: text("rule"),
            message: text("message"),
            reason: text("reason"),
            field_path: text("fieldPath").trim_start_matches('.').to_owned(),
            about_change,
            old_is_optional: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            program,
        }
    }

    /// What the server says about a value, if it does not pass.
    pub(super) fn judge(
        &self,
        schema: &Value,
        new: &Value,
        old: Option<&Value>,
        place: &Place,
        forgiven: bool,
    ) -> Option<Violation> {
        if self.about_change && old.is_none() && !self.old_is_optional {
            return None;
        }
        FUNCTIONS.with_borrow(|base| {
            let mut values = Values::new(base);
            let mut context = base.new_inner_scope();
            context.add_variable_from_value("self", values.convert(schema, new));
            if let Some(old) = old {
                context.add_variable_from_value("oldSelf", values.convert(schema, old));
            } else if self.old_is_optional {
                context.add_variable_from_value("oldSelf", Cel::Null);
            }
            match self.evaluate(&context, values.misfit()) {
                Ok(true) => None,
                Ok(false) if forgiven && !self.about_change => None,
                Ok(false) => Some(self.broken(&context, new, place)),
                Err(stumble) => {
                    let message = format!("Invalid value: {:?}: {stumble}", self.of);
                    Some(Violation::new(place, Cause::Invalid, message))
                }
            }
        })
    }

    fn evaluate(&self, context: &Context<'_>, misfit: Option<&str>) -> Result<bool, String> {
        let program = self.program.as_ref().map_err(|error| format!("rule compile error: {error}"))?;
        let name = if self.message.is_empty() { &self.text } else { &self.message };
        match program.execute(context) {
            Ok(Cel::Bool(answer)) => Ok(answer),
            Ok(_) => Err(format!("rule compile error: {name} is neither true nor false")),
            Err(error) => Err(match misfit {
                Some(misfit) => format!("{misfit} evaluating rule: {name}"),
                None => fault::sentence(&error, name),
            }),
        }
    }

    fn broken(&self, context: &Context<'_>, value: &Value, place: &Place) -> Violation {
        let place = if self.field_path.is_empty() { place.clone() } else { place.child(&self.field_path) };
        let detail = self.detail(context);
        // A server shows the value where it is short.
        let shown = (!matches!(self.of.as_str(), "object" | "array")).then(|| go::shown(value));
        let shown = shown.map(|shown| format!(": {shown}")).unwrap_or_default();
        let (cause, message) = match self.reason.as_str() {
            "FieldValueRequired" => (Cause::Required, format!("Required value: {detail}")),
            "FieldValueForbidden" => (Cause::Forbidden, format!("Forbidden: {detail}")),
            "FieldValueDuplicate" => (Cause::Duplicate, format!("Duplicate value{shown}")),
            _ => (Cause::Invalid, format!("Invalid value{shown}: {detail}")),
        };
        Violation::new(&place, cause, message)
    }

    /// What the rule says about the value, in its own words if it finds any.
    fn detail(&self, context: &Context<'_>) -> String {
        const LONGEST: usize = 5 * 1024;
        let said = self.message_program.as_ref().and_then(|program| program.execute(context).ok());
        let said = said.and_then(|said| if let Cel::String(said) = said { Some(said.trim().to_owned()) } else { None });
        let usable = |said: &String| !said.is_empty() && said.len() <= LONGEST && !said.contains('\n');
        match said.filter(usable) {
            Some(said) => said,
            None if self.message.is_empty() => format!("failed rule: {}", self.text),
            None => self.message.clone(),
        }
    }
}
