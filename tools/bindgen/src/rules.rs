//! Which functions belong to a part of the module: a list of parts of their readable names.

/// The lines of a part's list.
pub struct Rules {
    later: Vec<String>,
    first: Vec<String>,
    later_still: Vec<String>,
}

impl Rules {
    /// A line is part of a name; after `!`, of names that do not although another line matches; after `!!`, of names that move
    /// although one with `!` matches. `#` begins a comment.
    pub fn parse(text: &str) -> Self {
        let mut rules = Self { later: Vec::new(), first: Vec::new(), later_still: Vec::new() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let name = line.trim_start_matches('!');
            let list = match line.len() - name.len() {
                0 => &mut rules.later,
                1 => &mut rules.first,
                _ => &mut rules.later_still,
            };
            list.push(name.to_string());
        }
        rules
    }

    /// Whether the function of this name is in the part.
    pub fn moves(&self, name: &str) -> bool {
        let fits = |lines: &[String]| lines.iter().any(|part| name.contains(part.as_str()));
        fits(&self.later_still) || fits(&self.later) && !fits(&self.first)
    }

    /// The lines that are part of no name: what they meant was renamed, inlined or removed, and now comes first unnoticed.
    pub fn idle(&self, names: &[String]) -> Vec<String> {
        let lists = [("", &self.later), ("!", &self.first), ("!!", &self.later_still)];
        let lines = lists.into_iter().flat_map(|(mark, lines)| lines.iter().map(move |line| (mark, line)));
        let is_idle = |line: &str| !names.iter().any(|name| name.contains(line));
        lines.filter(|(_, line)| is_idle(line)).map(|(mark, line)| format!("{mark}{line}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;

    const TEXT: &str = "# Files.\nio::\n!io::name\n!!io::name::long\n\nold::\n!kept\n";

    #[test]
    fn lines_move_names_and_marks_overrule_them() {
        let rules = Rules::parse(TEXT);
        let moves = ["io::read", "io::name", "io::name::long", "nn::linear"].map(|name| rules.moves(name));
        assert_eq!(moves, [true, false, true, false]);
    }

    #[test]
    fn lines_that_are_part_of_no_name_are_found() {
        let names = ["a::io::read", "io::name::long", "nn::linear"].map(str::to_string);
        assert_eq!(Rules::parse(TEXT).idle(&names), ["old::", "!kept"]);
    }
}
