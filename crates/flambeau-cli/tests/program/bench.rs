//! `flambeau bench`: what it measures is there, counted and checked. How long it took is nobody's business here.

use crate::support::*;
use serde_json::Value;

const SOFTWARE: [&str; 2] = ["--device", "software"];

fn bench(folder: &Folder, arguments: &[&str]) -> Value {
    json(folder.path(), &[&["bench"], arguments].concat())
}

#[track_caller]
fn positive(value: &Value) {
    assert!(value.as_f64().is_some_and(|value| value.is_finite() && value > 0.0), "{value}");
}

#[test]
fn products() {
    let folder = Folder::new("bench-matmul");
    let result = bench(&folder, &["matmul", "--sizes", "16,33"]);
    assert_eq!((&result["bench"], &result["kind"]), (&"matmul".into(), &"cpu".into()));
    let rows = result["results"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["size"].as_u64().unwrap()).collect::<Vec<_>>(), [16, 33]);
    for row in rows {
        positive(&row["tflops"]);
        assert!(row["error"].as_f64().unwrap() < 1e-5, "{row}");
    }
}

#[test]
fn training_on_the_cpu() {
    let folder = Folder::new("bench-train");
    let arguments = ["train", "mlp", "cnn", "--batch", "2,3", "--steps", "8", "--repetitions", "2"];
    let result = bench(&folder, &arguments);
    let rows = result["results"].as_array().unwrap();
    let which = |row: &Value| (row["model"].as_str().unwrap().to_owned(), row["batch"].as_u64().unwrap());
    let expected =
        [("mlp", 2), ("mlp", 3), ("cnn", 2), ("cnn", 3)].map(|(name, batch)| (name.to_owned(), batch));
    assert_eq!(rows.iter().map(which).collect::<Vec<_>>(), expected);
    for row in rows {
        for figure in
            ["microseconds_per_step", "host_microseconds_per_step", "samples_per_second", "flops_per_second"]
        {
            positive(&row[figure]);
        }
        assert_eq!((&row["steps"], &row["repetitions"]), (&8.into(), &2.into()));
        assert_eq!((&row["plan_hits"], &row["plan_misses"]), (&16.into(), &0.into()), "{row}");
        assert_eq!(row["checked_batch"], row["batch"]);
        assert!(row["checked_difference"].as_f64().unwrap() < 1e-4, "{row}");
        assert!(row["checked_losses"][2].as_f64() < row["checked_losses"][0].as_f64(), "{row}");
        assert!(row["last_loss"].as_f64().unwrap().is_finite(), "{row}");
        assert_eq!(row["submits_per_step"], Value::Null, "the CPU has no queue");
    }
    assert_eq!(rows[0]["parameters"], 784 * 128 + 128 + 128 * 10 + 10);
    // Two products forward, and three of the same sizes backward: the first needs no gradient of its input.
    let products = 2.0 * 2.0 * (2 * 784 * 128 + 3 * 128 * 10) as f64;
    assert!(rows[0]["flops_per_step"].as_f64().unwrap() > products, "{}", rows[0]);
}

#[test]
fn training_on_a_gpu_is_one_submission_a_step_and_can_be_traced() {
    let folder = Folder::new("bench-trace");
    let steps =
        ["train", "mlp", "--batch", "2", "--steps", "4", "--repetitions", "1", "--trace", "trace.json"];
    let result = bench(&folder, &[&steps[..], &SOFTWARE].concat());
    let row = &result["results"][0];
    assert_eq!(row["submits_per_step"], 1.0, "{row}");
    assert_eq!((&row["new_pipelines"], &row["plan_misses"]), (&0.into(), &0.into()), "{row}");
    positive(&row["peak_memory_bytes"]);
    let kernels = row["kernels_per_step"].as_f64().unwrap();
    let traced = row["trace"]["steps"].as_f64().unwrap();
    let listed = row["trace"]["kernels"].as_array().unwrap();
    assert!(listed.iter().any(|kernel| kernel["name"].as_str().unwrap().contains("matmul")), "{row}");

    let trace = std::fs::read_to_string(folder.join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let runs = events.iter().filter(|event| event["ph"] == "X");
    assert_eq!(runs.clone().count() as f64, kernels * traced);
    assert!(runs.clone().all(|event| event["dur"].as_f64().unwrap() >= 0.0));
}

#[test]
fn ops_against_ceilings() {
    let folder = Folder::new("bench-ops");
    let result = bench(&folder, &[&["ops", "softmax", "layer norm"][..], &SOFTWARE].concat());
    assert_eq!(result["kind"], "software");
    let rows = result["results"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["op"].as_str().unwrap()).collect();
    assert_eq!(names, ["ceilings", "softmax", "layer norm", "softmax gradient"]);
    positive(&rows[0]["gigabytes_per_second"]);
    positive(&rows[0]["flops_per_second"]);
    for row in &rows[1..] {
        positive(&row["bytes_per_second"]);
        positive(&row["share_of_ceiling"]);
        assert!(row["error"].as_f64().unwrap() < 1e-5, "{row}");
    }
}

#[test]
fn overhead() {
    let folder = Folder::new("bench-overhead");
    let result = bench(&folder, &["overhead"]);
    let rows = result["results"].as_array().unwrap();
    assert_eq!(rows.len(), 15, "{result}");
    assert!(rows.iter().all(|row| row["what"].is_string() && row["microseconds"].is_number()), "{result}");
}

#[test]
fn first_steps_and_new_lengths() {
    let folder = Folder::new("bench-new");
    let cold = bench(&folder, &["cold", "mlp"]);
    let row = &cold["results"][0];
    assert_eq!((row["model"].as_str(), row["pipelines"].as_u64()), (Some("mlp"), Some(0)), "{cold}");
    positive(&row["first_step_ms"]);
    let ragged = bench(&folder, &["ragged", "--lengths", "21", "--batch", "1"]);
    let result = &ragged["results"];
    assert_eq!(result["new_pipelines_after_20"], 0, "the CPU has none: {ragged}");
    assert_eq!(result["steps_ms"].as_array().unwrap().len(), 21);
    positive(&result["median_ms"]);
}

/// Every row names its requirement, its target and what was found; what is counted is right.
#[test]
fn founding_targets() {
    let folder = Folder::new("bench-founding");
    let of = |result: &Value, number: u64| -> Vec<Value> {
        let rows = result["results"].as_array().unwrap();
        rows.iter().filter(|row| row["requirements"][0] == number).cloned().collect()
    };
    let result = bench(&folder, &["founding", "229", "255", "259"]);
    let [sum, line, ported] = [229, 255, 259].map(|number| of(&result, number));
    positive(&sum[0]["value"]);
    assert!(sum[0]["met"].is_boolean() && sum[0]["target"] == "below 50.0 µs", "{result}");
    assert_eq!((line.len(), ported.len(), &line[0]["met"]), (1, 1, &Value::Null));

    let software = bench(&folder, &[&["founding", "231", "248", "252", "254"][..], &SOFTWARE].concat());
    assert_eq!([231, 248, 252, 254].map(|number| of(&software, number).len()), [2, 5, 5, 2], "{software}");
    for (row, apart) in of(&software, 252).iter().zip([4, 9, 5, 9, 7]) {
        let kernels = format!("1 instead of {apart} kernels");
        assert!(row["measured"].as_str().unwrap().contains(&kernels), "{row}");
    }
    let rows = software["results"].as_array().unwrap();
    rows.iter().for_each(|row| positive(&row["value"]));
    let busy = of(&software, 254);
    assert!(busy.iter().all(|row| row["value"].as_f64() <= Some(1.0)), "{software}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = Folder::new("bench-refused");
    let refused = |arguments: &[&str]| error(folder.path(), &[&["bench"], arguments].concat());
    assert!(refused(&["train", "mlp", "--steps", "0"]).contains("above 0"));
    assert!(refused(&["ops", "teleport"]).contains("layer norm"));
    assert!(refused(&["founding", "1"]).contains("227 to 259"));
    assert!(refused(&["ragged", "--lengths", "20"]).contains("21 to 467"));
    assert!(refused(&["train", "mlp", "--trace", "trace.json"]).contains("timestamps"));
}

#[test]
fn mixed_precision_is_one_submission_a_step() {
    let folder = Folder::new("bench-amp");
    let steps = ["train", "mlp", "--batch", "2", "--steps", "4", "--repetitions", "1", "--amp"];
    let result = bench(&folder, &[&steps[..], &SOFTWARE].concat());
    let row = &result["results"][0];
    assert_eq!((&row["amp"], &row["submits_per_step"]), (&true.into(), &1.0.into()), "{row}");
    assert_eq!((&row["new_pipelines"], &row["plan_misses"]), (&0.into(), &0.into()), "{row}");
}
