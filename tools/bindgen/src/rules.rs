//! Which functions a page can wait for: a list of parts of their readable names.

/// The lines of `later.txt`.
pub struct Rules {
    later: Vec<String>,
    first: Vec<String>,
}

impl Rules {
    /// A line is part of a name; after `!`, of names that stay although another line matches. `#` begins a comment.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (first, later): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('!'));
        Self {
            later: later.into_iter().map(str::to_string).collect(),
            first: first.into_iter().map(|line| line[1..].to_string()).collect(),
        }
    }

    /// Whether the function of this name is in the second part.
    pub fn moves(&self, name: &str) -> bool {
        let fits = |part: &String| name.contains(part.as_str());
        self.later.iter().any(fits) && !self.first.iter().any(fits)
    }
}
