//! Which functions a page can wait for: a list of parts of their readable names.

/// The lines of `later.txt`.
pub struct Rules {
    later: Vec<String>,
    first: Vec<String>,
    later_still: Vec<String>,
}

impl Rules {
    /// A line is part of a name; after `!`, of names that stay although another line matches; after `!!`, of names that move
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

    /// Whether the function of this name is in the second part.
    pub fn moves(&self, name: &str) -> bool {
        let fits = |lines: &[String]| lines.iter().any(|part| name.contains(part.as_str()));
        fits(&self.later_still) || fits(&self.later) && !fits(&self.first)
    }
}
