//! Lists of what scripts make by name: one entry each, which says what it takes and makes it.
//!
//! What an entry takes are arguments, in the order of the JavaScript function, and the settings of an options struct
//! ([`Settings`](flambeau::settings::Settings)), whose names, types, docs and defaults are the library's. From the entries
//! the package's functions and types are written (`typescript/`).

#[cfg(test)]
use flambeau::settings::{SettingField, SettingKind};
#[cfg(test)]
use serde_json::Value;

/// An entry as TypeScript sees it.
#[cfg(test)]
pub struct Entry {
    /// The name it is made by.
    pub name: &'static str,
    /// The package's class of it.
    pub class: &'static str,
    /// The library's type.
    pub of: &'static str,
    /// The arguments.
    pub arguments: Vec<ArgumentEntry>,
    /// The settings.
    pub options: Option<OptionsEntry>,
}

/// An argument of an entry.
#[cfg(test)]
pub struct ArgumentEntry {
    pub name: &'static str,
    pub kind: SettingKind,
    /// Its Rust type.
    pub of: &'static str,
    /// What holds if it is left out; none if it must be given.
    pub default: Option<Value>,
}

/// The settings of an entry.
#[cfg(test)]
pub struct OptionsEntry {
    /// What the entry calls them: `options` are one object in JavaScript, others arguments one after the other.
    pub name: &'static str,
    /// The struct.
    pub of: &'static str,
    pub fields: Vec<SettingField>,
}

/// `name: Class = Type(argument: Type = default, …; options: Options = default) { makes it }`, any number of them, as one
/// function from a name and what is given to what is made. `Class` is the package's, `Type` the library's, whose docs
/// become the function's. Settings that are called `options` are one object in JavaScript; by another name, their fields
/// are arguments one after the other.
macro_rules! catalogue {
    (
        $(#[$attribute:meta])*
        fn $function:ident($kind:ident, $given:ident $(, $context:ident: $context_type:ty)*) -> $output:ty {
            else $rest:expr
        }
        $entries:ident;
        $($name:ident: $class:ident = $of:ident($($arg:ident: $type:ty $(= $default:expr)?),*
            $(; $options:ident: $options_type:ty $(= $options_default:expr)?)?) $body:block)*
    ) => {
        $(#[$attribute])*
        fn $function(
            $kind: &str,
            $given: &mut flambeau::settings::SettingMap
            $(, $context: $context_type)*
        ) -> flambeau::Result<$output> {
            Ok(match $kind {
                $(stringify!($name) => {
                    $(let $arg: $type = $crate::catalogue::catalogue!(@argument $given, $arg $(, $default)?);)*
                    $(
                        let mut $options: $options_type = $crate::catalogue::catalogue!(@default $($options_default)?);
                        flambeau::settings::Settings::fill(&mut $options, $given);
                    )?
                    $given.done()?;
                    $crate::catalogue::catalogue!(@wrap $class, $body)
                })*
                _ => return $rest,
            })
        }

        /// What TypeScript is told.
        #[cfg(test)]
        pub fn $entries() -> Vec<$crate::catalogue::Entry> {
            #[allow(unused_variables)]
            {
                vec![$({
                    $(let $arg: $type = $crate::catalogue::catalogue!(@blank $($default)?);)*
                    $crate::catalogue::Entry {
                        name: stringify!($name),
                        class: stringify!($class),
                        of: stringify!($of),
                        arguments: vec![$($crate::catalogue::ArgumentEntry {
                            name: stringify!($arg),
                            kind: <$type as flambeau::settings::Setting>::kind(),
                            of: stringify!($type),
                            default: $crate::catalogue::catalogue!(@shown $arg $(, $default)?),
                        }),*],
                        options: $crate::catalogue::catalogue!(
                            @options $($options: $options_type $(= $options_default)?)?
                        ),
                    }
                }),*]
            }
        }
    };
    (@argument $given:ident, $arg:ident) => { $given.argument(stringify!($arg)) };
    (@argument $given:ident, $arg:ident, $default:expr) => { $given.argument_or(stringify!($arg), $default) };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@blank) => { flambeau::settings::Argument::blank() };
    (@blank $default:expr) => { $default };
    (@shown $arg:ident) => { None };
    (@shown $arg:ident, $default:expr) => { Some(flambeau::settings::Setting::value(&$arg)) };
    (@options) => { None };
    (@options $options:ident: $type:ty $(= $default:expr)?) => {{
        let settings: $type = $crate::catalogue::catalogue!(@default $($default)?);
        Some($crate::catalogue::OptionsEntry {
            name: stringify!($options),
            of: stringify!($type),
            fields: flambeau::settings::Settings::fields(&settings),
        })
    }};
    (@wrap Layer, $made:expr) => {{
        let made: flambeau::Result<_> = $made;
        $crate::layers::Layer::Plain(Box::new(made?))
    }};
    (@wrap Schedule, $made:expr) => {{
        let made: flambeau::Result<_> = $made;
        Box::new(made?)
    }};
    (@wrap $class:ident, $made:expr) => {{
        let made: flambeau::Result<_> = $made;
        $crate::layers::Layer::Special(Box::new(made?))
    }};
}
pub(crate) use catalogue;
