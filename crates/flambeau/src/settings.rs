//! Settings by name: what bindings and programs may give to a layer, a loss, an optimizer or a schedule, as JSON.
//!
//! An options struct says it once: its fields are the names, their types what may be given, their docs what it means, and
//! its `Default` what holds otherwise. `#[derive(Settings)]` makes of that a function that fills the struct, and a
//! description, from which the package's TypeScript is written. (Serde's derives
//! describe nothing, and make a visitor of their own for each struct.)

use crate::error::{Error, Result};
pub use flambeau_derive::Settings;
use serde_json::{Map, Value};

/// A struct whose fields can be set by name.
pub trait Settings {
    /// Takes what is given for its fields.
    fn fill(&mut self, given: &mut SettingMap);

    /// What can be given, with the present values as defaults.
    fn fields(&self) -> Vec<SettingField>;
}

/// One setting, described.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingField {
    /// The names it can be given by; the first is the one to show.
    pub names: &'static [&'static str],
    /// What it means.
    pub about: &'static str,
    /// What can be given.
    pub kind: SettingKind,
    /// What holds if nothing is given; null if there is nothing then.
    pub default: Value,
}

impl SettingField {
    /// Describes a field with its present value.
    pub fn of<S: Setting>(names: &'static [&'static str], about: &'static str, value: &S) -> SettingField {
        SettingField { names, about, kind: S::kind(), default: value.value() }
    }
}

/// What can be given for a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingKind {
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A number, or a list of them.
    Numbers,
    /// Two numbers.
    Pair,
    /// One of these words.
    Words(Vec<&'static str>),
    /// A number, a list of them, or one of these words.
    NumbersOr(Vec<&'static str>),
    /// A kind of the bindings' own, by its name.
    Foreign(&'static str),
    /// That, or nothing.
    Optional(Box<SettingKind>),
}

/// A value that can be given as JSON.
pub trait Setting {
    /// Takes the value, or says what it should have been.
    fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str>;

    /// Takes `null`, which leaves everything but an option as it is.
    fn clear(&mut self) {}

    /// What can be given.
    fn kind() -> SettingKind
    where
        Self: Sized;

    /// The value as it would be given.
    fn value(&self) -> Value
    where
        Self: Sized;
}

/// A setting that can stand alone: an argument, or what an option holds.
pub trait Argument: Setting + Sized {
    /// What stands there until something is given.
    fn blank() -> Self;
}

/// What is given to one layer, optimizer or schedule. What is wrong with it is kept until [`done`](SettingMap::done).
#[derive(Debug)]
pub struct SettingMap {
    of: &'static str,
    values: Map<String, Value>,
    wrong: Option<String>,
}

impl SettingMap {
    /// Parses an object.
    pub fn parse(of: &'static str, json: &str) -> Result<SettingMap> {
        let value = serde_json::from_str(json);
        SettingMap::new(of, value.map_err(|error| Error::argument(of, format!("bad options: {error}")))?)
    }

    /// Takes an object that has been parsed.
    pub fn new(of: &'static str, value: Value) -> Result<SettingMap> {
        match value {
            Value::Object(values) => Ok(SettingMap { of, values, wrong: None }),
            other => Err(Error::argument(of, format!("options must be an object, not {other}"))),
        }
    }

    /// Takes a value out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name)
    }

    /// Puts what is given by this name into its place; says whether something is given.
    pub fn set(&mut self, name: &str, place: &mut dyn Setting) -> bool {
        match self.values.remove(name) {
            None => return false,
            Some(Value::Null) => place.clear(),
            Some(value) => {
                if let Err(wanted) = place.set(&value) {
                    self.refuse(format!("{name} must be {wanted}, not {value}"));
                }
            }
        }
        true
    }

    /// What is given by this name, and must be.
    pub fn argument<T: Argument>(&mut self, name: &str) -> T {
        let mut value = T::blank();
        if !self.set(name, &mut value) {
            self.refuse(format!("{name} is missing"));
        }
        value
    }

    /// What is given by this name, or the default.
    pub fn argument_or<T: Setting>(&mut self, name: &str, mut default: T) -> T {
        self.set(name, &mut default);
        default
    }

    fn refuse(&mut self, message: String) {
        self.wrong.get_or_insert(message);
    }

    /// Complains about what was wrong, and about what nobody has taken.
    pub fn done(&mut self) -> Result<()> {
        let wrong = self.wrong.take();
        let left = || self.values.keys().next().map(|name| format!("there is no option {name}"));
        match wrong.or_else(left) {
            Some(message) => Err(Error::argument(self.of, message)),
            None => Ok(()),
        }
    }
}

/// `type, |given| value if it is right, "what is wanted", kind, |value| JSON, blank`.
macro_rules! plain_settings {
    ($($type:ty, |$given:ident| $read:expr, $wanted:literal, $kind:expr, |$value:ident| $json:expr, $blank:expr;)*) => {$(
        impl Setting for $type {
            fn set(&mut self, $given: &Value) -> std::result::Result<(), &'static str> {
                *self = $read.ok_or($wanted)?;
                Ok(())
            }

            fn kind() -> SettingKind {
                $kind
            }

            fn value(&self) -> Value {
                let $value = self;
                Value::from($json)
            }
        }

        impl Argument for $type {
            fn blank() -> Self {
                $blank
            }
        }
    )*};
}

plain_settings! {
    bool, |given| given.as_bool(), "true or false", SettingKind::Flag, |flag| *flag, false;
    f64, |given| given.as_f64(), "a number", SettingKind::Number, |number| *number, 0.0;
    usize, |given| size(given), "a whole number, not negative", SettingKind::Number, |size| *size, 0;
    u64, |given| size(given).map(|size| size as u64), "a whole number, not negative", SettingKind::Number, |size| *size, 0;
    isize, |given| whole(given), "a whole number", SettingKind::Number, |number| *number, 0;
    (f64, f64), |given| pair(given), "two numbers", SettingKind::Pair, |pair| vec![pair.0, pair.1], (0.0, 0.0);
    Vec<f64>, |given| list(given, Value::as_f64), "a number or a list of numbers", SettingKind::Numbers, |list| list.clone(), Vec::new();
    Vec<usize>, |given| list(given, size), "a whole number, not negative, or a list of them", SettingKind::Numbers, |list| list.clone(), Vec::new();
    Vec<u64>, |given| list(given, |each| size(each).map(|size| size as u64)), "a whole number, not negative, or a list of them", SettingKind::Numbers, |list| list.clone(), Vec::new();
    Vec<isize>, |given| list(given, whole), "a whole number or a list of them", SettingKind::Numbers, |list| list.clone(), Vec::new();
}

fn whole(given: &Value) -> Option<isize> {
    given.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as isize)
}

fn size(given: &Value) -> Option<usize> {
    given.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0).map(|number| number as usize)
}

fn list<T>(given: &Value, each: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match given {
        Value::Array(list) => list.iter().map(each).collect(),
        one => each(one).map(|one| vec![one]),
    }
}

fn pair(given: &Value) -> Option<(f64, f64)> {
    match list(given, Value::as_f64)?[..] {
        [first, second] => Some((first, second)),
        _ => None,
    }
}

/// N whole numbers, or one for all.
pub(crate) fn each<const N: usize>(given: &Value) -> std::result::Result<[isize; N], &'static str> {
    let list = list(given, whole).unwrap_or_default();
    match list[..] {
        [one] => Ok([one; N]),
        _ => <[isize; N]>::try_from(list).map_err(|_| "a whole number, or one for each place"),
    }
}

impl<const N: usize> Setting for [usize; N] {
    fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str> {
        let sizes = each::<N>(given)?;
        if sizes.iter().any(|&size| size < 0) {
            return Err("whole numbers that are not negative");
        }
        *self = sizes.map(|size| size as usize);
        Ok(())
    }

    fn kind() -> SettingKind {
        SettingKind::Numbers
    }

    fn value(&self) -> Value {
        match &self[..] {
            [first, rest @ ..] if rest.iter().all(|size| size == first) => Value::from(*first),
            sizes => Value::from(sizes),
        }
    }
}

impl<const N: usize> Argument for [usize; N] {
    fn blank() -> Self {
        [0; N]
    }
}

impl<T: Argument> Setting for Option<T> {
    fn set(&mut self, given: &Value) -> std::result::Result<(), &'static str> {
        self.get_or_insert_with(T::blank).set(given)
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn kind() -> SettingKind {
        SettingKind::Optional(Box::new(T::kind()))
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Setting::value)
    }
}

/// Something that is chosen by a word.
pub trait Word: Copy + PartialEq + 'static {
    /// The words, and what they choose; of several words for one choice, the first is shown.
    const WORDS: &'static [(&'static str, Self)];
    /// The words, for errors.
    const WANTED: &'static str;

    /// What a word chooses.
    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
    }

    /// The word for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }
}

/// Makes an enum one that is chosen by a word: `Type { "word" => Variant, … }`.
macro_rules! words {
    ($type:ident { $first:literal => $choice:ident $(, $word:literal => $variant:ident)* $(,)? }) => {
        impl $crate::settings::Word for $type {
            const WORDS: &'static [(&'static str, Self)] =
                &[($first, $type::$choice) $(, ($word, $type::$variant))*];
            const WANTED: &'static str = concat!("one of ", $first $(, ", ", $word)*);
        }

        impl $crate::settings::Setting for $type {
            fn set(&mut self, given: &serde_json::Value) -> std::result::Result<(), &'static str> {
                let word = given.as_str().and_then(<$type as $crate::settings::Word>::of_word);
                *self = word.ok_or(<$type as $crate::settings::Word>::WANTED)?;
                Ok(())
            }

            fn kind() -> $crate::settings::SettingKind {
                let words = <$type as $crate::settings::Word>::WORDS.iter().map(|(word, _)| *word);
                $crate::settings::SettingKind::Words(words.collect())
            }

            fn value(&self) -> serde_json::Value {
                serde_json::Value::from($crate::settings::Word::word(*self))
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Mode {
        Plain,
        Mirrored,
    }
    words!(Mode { "plain" => Plain, "mirrored" => Mirrored });

    #[derive(Debug, Clone, PartialEq, Settings)]
    struct Inner {
        /// How much.
        rate: f64,
    }

    #[derive(Debug, Clone, PartialEq, Settings)]
    struct Outer {
        /// How many
        /// there are.
        #[setting(name = "layers")]
        num_layers: usize,
        stride: [usize; 2],
        mode: Mode,
        limit: Option<f64>,
        #[setting(flatten)]
        inner: Inner,
        #[setting(skip)]
        hidden: bool,
    }

    fn outer() -> Outer {
        let inner = Inner { rate: 0.5 };
        Outer { num_layers: 1, stride: [2, 2], mode: Mode::Plain, limit: Some(1.5), inner, hidden: true }
    }

    fn filled(given: Value) -> std::result::Result<Outer, String> {
        let mut settings = outer();
        let mut given = SettingMap::new("outer", given).map_err(|error| error.to_string())?;
        settings.fill(&mut given);
        given.done().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn what_is_given_goes_over_the_defaults() {
        assert_eq!(filled(json!({})).unwrap(), outer());
        let given = json!({"layers": 3, "stride": [1, 4], "mode": "mirrored", "limit": null, "rate": 2});
        let wanted = Outer {
            num_layers: 3,
            stride: [1, 4],
            mode: Mode::Mirrored,
            limit: None,
            inner: Inner { rate: 2.0 },
            hidden: true,
        };
        assert_eq!(filled(given).unwrap(), wanted);
        assert_eq!(
            filled(json!({"num_layers": 2})).unwrap().num_layers,
            2,
            "the field's own name is taken too"
        );
        assert_eq!(filled(json!({"stride": 3, "rate": null})).unwrap(), Outer { stride: [3, 3], ..outer() });
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            (json!({"hidden": false}), "there is no option hidden"),
            (json!({"layers": 1.5}), "layers must be a whole number, not negative, not 1.5"),
            (json!({"layers": -1}), "not negative, not -1"),
            (json!({"mode": "other"}), "mode must be one of plain, mirrored, not \"other\""),
            (json!({"stride": [1, 2, 3]}), "stride must be a whole number, or one for each place"),
            (json!({"limit": true}), "limit must be a number, not true"),
            (json!([]), "options must be an object, not []"),
        ];
        for (given, wanted) in cases {
            let error = filled(given).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        let mut given = SettingMap::new("outer", json!({})).unwrap();
        given.argument::<usize>("inputs");
        assert!(given.done().unwrap_err().to_string().contains("inputs is missing"));
    }

    #[test]
    fn settings_describe_themselves() {
        let fields = outer().fields();
        let names: Vec<&[&str]> = fields.iter().map(|field| field.names).collect();
        assert_eq!(names, [&["layers", "num_layers"][..], &["stride"], &["mode"], &["limit"], &["rate"]]);
        assert_eq!(fields[0].about, "How many there are.");
        let defaults: Vec<&Value> = fields.iter().map(|field| &field.default).collect();
        assert_eq!(defaults, [&json!(1), &json!(2), &json!("plain"), &json!(1.5), &json!(0.5)]);
        assert_eq!(fields[2].kind, SettingKind::Words(vec!["plain", "mirrored"]));
        assert_eq!(fields[3].kind, SettingKind::Optional(Box::new(SettingKind::Number)));
    }
}
