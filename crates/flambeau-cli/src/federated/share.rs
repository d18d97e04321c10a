//! Which of the data a client has, where a data set is divided for an experiment.

use crate::output::refused;
use flambeau::Result;

/// A share of a data set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Which of them, from 0.
    pub member: usize,
    /// How many there are.
    pub members: usize,
    /// Has each only some of the classes?
    pub non_iid: bool,
}

/// More would have nothing to learn from.
const MOST: usize = 10_000;

impl Share {
    /// Everything, or the share in a text such as `0/4`.
    pub fn read(text: Option<&str>, non_iid: bool) -> Result<Share> {
        let Some(text) = text else {
            return match non_iid {
                true => {
                    Err(refused("--non-iid", "name the share, too: --partition 0/4 is the first of four"))
                }
                false => Ok(Share { member: 0, members: 1, non_iid }),
            };
        };
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((member, members)) if member < members && members <= MOST => {
                Ok(Share { member, members, non_iid })
            }
            _ => Err(refused(
                "--partition",
                format!("`{text}` is no share; 0/4 is the first of four, 3/4 the last"),
            )),
        }
    }

    /// The places of this share, in ascending order. Alike: every N-th. Non-IID as in McMahan et al. 2017: the items in the order
    /// of their labels are cut into two shards for each client, of which client K has the K-th and the (K + N)-th.
    pub fn places(self, labels: &[i32]) -> Vec<usize> {
        if !self.non_iid {
            return (self.member..labels.len()).step_by(self.members).collect();
        }
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|&place| labels[place]);
        let size = labels.len() / (2 * self.members);
        let shard = |number: usize| &order[number * size..(number + 1) * size];
        let mut places = [shard(self.member), shard(self.member + self.members)].concat();
        places.sort_unstable();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read() {
        let share = |member, members| Share { member, members, non_iid: true };
        assert_eq!(Share::read(Some("3/4"), true).unwrap(), share(3, 4));
        assert_eq!(Share::read(None, false).unwrap(), Share { member: 0, members: 1, non_iid: false });
        for text in ["4/4", "0/0", "-1/4", "1", "a/b", "0/99999999999999999999", "0/10001"] {
            assert!(Share::read(Some(text), false).unwrap_err().to_string().contains(text));
        }
        assert!(Share::read(None, true).unwrap_err().to_string().contains("--partition"));
    }

    #[test]
    fn shares_are_disjoint_and_whole() {
        let labels: Vec<i32> = (0..80).map(|place| (place * 7) % 10).collect();
        for non_iid in [false, true] {
            let mut all: Vec<usize> = (0..4)
                .flat_map(|member| {
                    let places = Share { member, members: 4, non_iid }.places(&labels);
                    assert!(places.len() == 20 && places.is_sorted());
                    places
                })
                .collect();
            all.sort_unstable();
            assert_eq!(all, (0..80).collect::<Vec<_>>());
        }
        let first = Share { member: 0, members: 4, non_iid: true }.places(&labels);
        let mut classes: Vec<i32> = first.iter().map(|&place| labels[place]).collect();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes, [0, 1, 5, 6]);
    }
}
