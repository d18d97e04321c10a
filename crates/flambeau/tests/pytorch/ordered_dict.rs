//! `ordered_dict.cpp`: values by name, in the order in which they were put in.

use crate::tools::message;
use flambeau::nn::OrderedDict;

fn two() -> OrderedDict<i32> {
    OrderedDict::from([("b", 1), ("a", 2)])
}

#[test]
fn is_empty_after_default_construction() {
    let dict = OrderedDict::<i32>::default();
    assert!(dict.is_empty());
    assert_eq!(dict.len(), 0);
}

#[test]
fn insert_adds_elements_when_they_are_yet_not_present() {
    let mut dict = two();
    dict.insert("c", 3).unwrap();
    assert_eq!((dict.len(), dict["c"]), (3, 3));
}

#[test]
fn get_returns_values_when_they_are_present() {
    assert_eq!((two()["b"], *two().try_get("a").unwrap()), (1, 2));
}

#[test]
fn get_throws_when_passed_keys_that_are_not_present() {
    assert!(message(two().try_get("foo")).contains("'foo' is not defined"));
}

#[test]
fn can_initialize_from_list() {
    assert_eq!((two().len(), two()["b"], two()["a"]), (2, 1, 2));
}

#[test]
fn insert_throws_when_passed_elements_that_are_present() {
    let mut dict = two();
    assert!(message(dict.insert("a", 7)).contains("'a' is already defined"));
    assert_eq!(dict["a"], 2);
}

#[test]
fn front_returns_the_first_item() {
    assert_eq!(two().front(), Some(("b", &1)));
}

#[test]
fn front_throws_when_empty() {
    assert_eq!(OrderedDict::<i32>::new().front(), None);
}

#[test]
fn back_returns_the_last_item() {
    assert_eq!(two().back(), Some(("a", &2)));
}

#[test]
fn back_throws_when_empty() {
    assert_eq!(OrderedDict::<i32>::new().back(), None);
}

#[test]
fn find_returns_pointers_to_values_when_present() {
    let mut dict = two();
    *dict.get_mut("a").unwrap() = 5;
    assert_eq!(dict.get("a"), Some(&5));
}

#[test]
fn find_returns_null_pointers_when_pasesd_keys_that_are_not_present() {
    assert_eq!((two().get("bar"), two().get("")), (None, None));
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
#[should_panic(expected = "'baz' is not defined")]
fn subscript_operator_throws_when_passed_keys_that_are_not_present() {
    let _ = two()["baz"];
}

#[test]
fn subscript_operator_returns_items_positionally_when_passed_integers() {
    assert_eq!((two().at(0), two().at(1)), (Some(("b", &1)), Some(("a", &2))));
}

#[test]
fn subscript_operators_throwswhen_passed_keys_that_are_not_present() {
    assert_eq!(two().at(2), None);
}

#[test]
fn update_inserts_all_items_from_another_ordered_dict() {
    let mut dict = two();
    dict.update(OrderedDict::from([("d", 4), ("c", 3)])).unwrap();
    assert_eq!(dict.keys().collect::<Vec<_>>(), ["b", "a", "d", "c"]);
}

#[test]
fn update_also_checks_for_duplicates() {
    let mut dict = two();
    assert!(dict.update(OrderedDict::from([("c", 3), ("a", 9)])).is_err());
    assert_eq!(dict, two());
}

#[test]
fn can_iterate_items() {
    let items: Vec<_> = two().iter().map(|(name, value)| (name.to_owned(), *value)).collect();
    assert_eq!(items, two().into_iter().collect::<Vec<_>>());
}

#[test]
fn erase_works() {
    let mut dict = OrderedDict::from([("b", 1), ("a", 2), ("c", 3)]);
    assert_eq!(dict.remove("a").unwrap(), 2);
    assert_eq!((dict.len(), dict.at(1)), (2, Some(("c", &3))));
    assert!(dict.remove("a").is_err());
}

#[test]
fn clear_makes_the_dict_empty() {
    let mut dict = two();
    dict.clear();
    assert!(dict.is_empty() && dict.get("a").is_none());
}

#[test]
fn can_copy_construct() {
    let mut copy = two().clone();
    copy.insert("c", 3).unwrap();
    assert_eq!((copy.len(), two().len()), (3, 2));
}

#[test]
fn can_copy_assign() {
    let mut dict = OrderedDict::from([("c", 3)]);
    assert!(dict.contains("c"));
    dict.clone_from(&two());
    assert_eq!(dict, two());
}

#[test]
fn error_messages_include_the_key_description() {
    let mut dict = OrderedDict::described("Penguin");
    dict.insert("a", 1).unwrap();
    assert!(message(dict.try_get("b")).contains("Penguin 'b' is not defined"));
    assert!(message(dict.insert("a", 1)).contains("Penguin 'a' is already defined"));
}

#[test]
fn keys_returns_all_keys() {
    assert_eq!(two().keys().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(OrderedDict::<i32>::new().keys().count(), 0);
}

#[test]
fn values_returns_all_values() {
    assert_eq!(two().values().copied().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn items_returns_all_items() {
    assert_eq!(two().iter().collect::<Vec<_>>(), [("b", &1), ("a", &2)]);
}
