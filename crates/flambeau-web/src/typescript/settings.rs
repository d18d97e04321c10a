//! Interfaces of settings.

use super::{camel, in_javascript};
use flambeau::settings::{SettingField, SettingKind};
use serde_json::Value;

/// The TypeScript type of what can be given.
pub fn kind(kind: &SettingKind) -> String {
    let union = |words: &[&str]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | ");
    match kind {
        SettingKind::Flag => "boolean".to_string(),
        SettingKind::Number => "number".to_string(),
        SettingKind::Numbers => "Sizes".to_string(),
        SettingKind::Pair => "[number, number]".to_string(),
        SettingKind::Words(words) => union(words),
        SettingKind::NumbersOr(words) => format!("Sizes | {}", union(words)),
        SettingKind::Foreign(name) => (*name).to_string(),
        SettingKind::Optional(inner) => self::kind(inner),
    }
}

/// A default as TypeScript writes it; none if there is nothing by default.
pub fn default(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(list) if list.is_empty() => None,
        value => {
            let text = value.to_string().replace(',', ", ");
            Some(text.strip_suffix(".0").map_or(text.clone(), str::to_string))
        }
    }
}

/// One setting as a member of a type: its docs with its default, and its declaration; other names after it.
pub fn members(field: &SettingField, name: impl Fn(&str) -> String, pad: &str) -> String {
    let mut type_name = kind(&field.kind);
    let shown = default(&field.default);
    // Something that is there by default can be taken away.
    if matches!(field.kind, SettingKind::Optional(_)) && shown.is_some() {
        type_name += " | null";
    }
    let about = match &shown {
        Some(shown) => format!("{} Default: {shown}.", in_javascript(field.about)),
        None => in_javascript(field.about),
    };
    let (first, others) = field.names.split_first().expect("a setting has a name");
    let mut text = format!("{pad}/** {about} */\n{pad}{}?: {type_name};\n", name(first));
    for other in others {
        let (other, first) = (name(other), name(first));
        text += &format!("{pad}/** Another name of `{first}`. */\n{pad}{other}?: {type_name};\n");
    }
    text
}

/// An interface.
pub fn interface(name: &str, about: &str, fields: &[SettingField]) -> String {
    let members: String = fields.iter().map(|field| members(field, camel, "  ")).collect();
    format!("/** {about} */\nexport interface {name} {{\n{members}}}\n\n")
}
