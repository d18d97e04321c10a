//! What crosses the boundary as JSON: a client's settings, what a server sends along, and what JavaScript answers.

use crate::handles::argument;
use flambeau::Result;
use flambeau_flower::{Named, Outcome, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

/// What is set for a client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub server: String,
    #[serde(default)]
    pub privacy: Option<PrivacySettings>,
    #[serde(default)]
    pub stay: bool,
    #[serde(default = "one")]
    pub poll: f64,
    #[serde(default = "two_minutes")]
    pub patience: f64,
    #[serde(default)]
    pub properties: Map<String, Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacySettings {
    pub clip: f64,
    pub noise: f64,
    #[serde(default = "usual_delta")]
    pub delta: f64,
}

fn one() -> f64 {
    1.0
}

fn two_minutes() -> f64 {
    120.0
}

fn usual_delta() -> f64 {
    1e-5
}

/// What JavaScript answers to `train` and `evaluate`.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub examples: u64,
    pub loss: Option<f64>,
    pub accuracy: Option<f64>,
    #[serde(default)]
    pub metrics: Map<String, Json>,
}

impl Answer {
    /// The numbers for the server.
    pub fn metrics(&self) -> Named<f64> {
        // The package has seen to it that they are numbers.
        self.metrics.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?))).collect()
    }

    /// What training has come to.
    pub fn outcome(&self) -> Outcome {
        Outcome { examples: self.examples, loss: self.loss, metrics: self.metrics() }
    }
}

/// What is written there; `what` is whose it is.
pub fn read<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| argument(what, error.to_string()))
}

/// A server's value for JavaScript. JSON has neither infinities nor NaN: these are null.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Double(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::UInt(value) => (*value).into(),
        Value::Bool(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        Value::Bytes(value) => value.as_slice().into(),
        Value::Doubles(values) => values.as_slice().into(),
        Value::Ints(values) => values.as_slice().into(),
        Value::UInts(values) => values.as_slice().into(),
        Value::Bools(values) => values.as_slice().into(),
        Value::Texts(values) => values.as_slice().into(),
        Value::ByteStrings(values) => values.iter().map(Vec::as_slice).collect(),
    }
}

/// A value of JavaScript's for the server: a number, a truth, a text, or a list of numbers, of truths or of texts.
pub fn from_json(name: &str, value: &Json) -> Result<Value> {
    let wrong = || {
        let message = format!(
            "`{name}` is {value}; servers take numbers, booleans, strings, and lists of one of these"
        );
        argument("properties", message)
    };
    let number = |value: &Json| value.as_f64();
    Ok(match value {
        Json::Bool(value) => Value::Bool(*value),
        Json::String(value) => Value::Text(value.clone()),
        Json::Number(value) => match value.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Double(value.as_f64().ok_or_else(wrong)?),
        },
        Json::Array(values) => {
            let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
            let truths: Option<Vec<bool>> = values.iter().map(Json::as_bool).collect();
            let texts: Option<Vec<String>> =
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            let lists = [numbers.map(Value::Doubles), truths.map(Value::Bools), texts.map(Value::Texts)];
            lists.into_iter().flatten().next().ok_or_else(wrong)?
        }
        Json::Null | Json::Object(_) => return Err(wrong()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_by_name() {
        let settings: Settings = read(
            "serve",
            r#"{"server":"http://here","privacy":{"clip":1,"noise":2},"stay":true,"properties":{"name":"tab"}}"#,
        )
        .unwrap();
        assert_eq!((settings.server.as_str(), settings.stay), ("http://here", true));
        assert_eq!((settings.poll, settings.patience), (1.0, 120.0));
        assert_eq!(settings.properties["name"], "tab");
        let privacy = settings.privacy.unwrap();
        assert_eq!((privacy.clip, privacy.noise, privacy.delta), (1.0, 2.0, 1e-5));
        for wrong in [
            r#"{}"#,
            // As JSON.stringify writes what is no number.
            r#"{"server":"http://here","poll":null}"#,
            r#"{"server":"http://here","privacy":{"clip":1,"noise":null}}"#,
            r#"{"server":"http://here","privacy":{"clip":1}}"#,
            r#"{"server":"http://here","model":1}"#,
        ] {
            let error = read::<Settings>("serve", wrong).unwrap_err();
            assert!(error.to_string().contains("serve"), "{error}");
        }
    }

    #[test]
    fn values_come_and_go() {
        let sent = [
            (Value::Int(-3), json!(-3)),
            (Value::UInt(u64::MAX), json!(u64::MAX)),
            (Value::Double(0.5), json!(0.5)),
            (Value::Double(f64::NAN), json!(null)),
            (Value::Bool(true), json!(true)),
            (Value::Text("é".into()), json!("é")),
            (Value::Bytes(vec![1, 255]), json!([1, 255])),
            (Value::Ints(vec![1, -1]), json!([1, -1])),
            (Value::Texts(vec!["a".into()]), json!(["a"])),
            (Value::ByteStrings(vec![vec![1], vec![]]), json!([[1], []])),
        ];
        for (value, expected) in sent {
            assert_eq!(to_json(&value), expected);
        }
        let told = [
            (json!(7), Value::Int(7)),
            (json!(0.25), Value::Double(0.25)),
            (json!(false), Value::Bool(false)),
            (json!("x"), Value::Text("x".into())),
            (json!([1, 2.5]), Value::Doubles(vec![1.0, 2.5])),
            (json!([true]), Value::Bools(vec![true])),
            (json!(["a", "b"]), Value::Texts(vec!["a".into(), "b".into()])),
        ];
        for (json, expected) in told {
            assert_eq!(from_json("name", &json).unwrap(), expected);
        }
        for wrong in [json!(null), json!({}), json!([1, "a"]), json!([[1]])] {
            assert!(from_json("name", &wrong).unwrap_err().to_string().contains("`name`"));
        }
    }

    #[test]
    fn answers_have_numbers() {
        let answer: Answer = read("train", r#"{"examples":60,"loss":0.5,"metrics":{"steps":6}}"#).unwrap();
        let outcome = answer.outcome();
        assert_eq!((outcome.examples, outcome.loss, answer.accuracy), (60, Some(0.5), None));
        assert_eq!(outcome.metrics, Named::default().with("steps", 6.0));
        assert!(read::<Answer>("train", r#"{"examples":-1}"#).is_err());
    }
}
