//! What peers send each other, as bytes. Whatever bytes arrive, reading them gives a frame or says what is wrong.
//!
//! ```text
//! frame: kind (1 byte), fields; numbers are little-endian, a list of members is a count (1 byte) and 16 bytes each
//! ```

use super::links::PeerId;

/// Bytes of a frame: those that WebRTC carries between all browsers.
pub const LARGEST: usize = 60_000;
/// What comes before a part's bytes.
const PART_HEAD: usize = 1 + 8 + 4 + 4 + 4;
/// Members that a list may name.
pub const MOST_MEMBERS: usize = 64;

/// Bytes that stand for what was agreed on.
pub type Digest = [u8; 16];

/// Whether a member who has been left out may know why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It was not there in time, or two members could not work together.
    Missing = 1,
    /// It has agreed on something else.
    Agreement = 2,
}

/// What peers tell each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// What a member agrees to; does it want to be let in?
    Hello { agreement: Digest, wants: bool },
    /// A member is done with the round of this epoch. With whom it cannot work, and whether the round has to be made again.
    Ready { epoch: u64, repeats: bool, broken: Vec<PeerId> },
    /// Who shall be in the next epoch, of whom so many were there before.
    Propose { epoch: u64, stayed: u8, members: Vec<PeerId> },
    /// The answer: with whom of these the member cannot work; if with all, the proposal is accepted.
    Answer { epoch: u64, broken: Vec<PeerId> },
    /// All have accepted.
    Commit { epoch: u64 },
    /// The others have gone on to this epoch.
    Leave { epoch: u64, why: LeftOut },
    /// A part of the member's message with this number in this epoch: from byte `at` of `total`.
    Part { epoch: u64, number: u32, total: u32, at: u32, body: Vec<u8> },
    /// A sign of life.
    Alive,
}

/// The parts of a message, as bytes.
pub fn parts(epoch: u64, number: u32, message: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    const BODY: usize = LARGEST - PART_HEAD;
    let count = message.len().div_ceil(BODY).max(1);
    (0..count).map(move |k| {
        let body = &message[k * BODY..message.len().min((k + 1) * BODY)];
        let mut bytes = Vec::with_capacity(PART_HEAD + body.len());
        bytes.push(7);
        bytes.extend_from_slice(&epoch.to_le_bytes());
        for word in [number, message.len() as u32, (k * BODY) as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(body);
        bytes
    })
}

impl Frame {
    /// As bytes. (Parts are written by [`parts`].)
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        let list = |to: &mut Vec<u8>, members: &[PeerId]| {
            to.push(members.len() as u8);
            members.iter().for_each(|member| to.extend_from_slice(&member.0.to_le_bytes()));
        };
        match self {
            Frame::Hello { agreement, wants } => {
                to.push(1);
                to.extend_from_slice(agreement);
                to.push(u8::from(*wants));
            }
            Frame::Ready { epoch, repeats, broken } => {
                to.push(2);
                to.extend_from_slice(&epoch.to_le_bytes());
                to.push(u8::from(*repeats));
                list(&mut to, broken);
            }
            Frame::Propose { epoch, stayed, members } => {
                to.push(3);
                to.extend_from_slice(&epoch.to_le_bytes());
                to.push(*stayed);
                list(&mut to, members);
            }
            Frame::Answer { epoch, broken } => {
                to.push(4);
                to.extend_from_slice(&epoch.to_le_bytes());
                list(&mut to, broken);
            }
            Frame::Commit { epoch } => {
                to.push(5);
                to.extend_from_slice(&epoch.to_le_bytes());
            }
            Frame::Leave { epoch, why } => {
                to.push(6);
                to.extend_from_slice(&epoch.to_le_bytes());
                to.push(*why as u8);
            }
            Frame::Part { epoch, number, total, at, body } => {
                to.push(7);
                to.extend_from_slice(&epoch.to_le_bytes());
                [number, total, at].iter().for_each(|word| to.extend_from_slice(&word.to_le_bytes()));
                to.extend_from_slice(body);
            }
            Frame::Alive => to.push(8),
        }
        to
    }

    /// Reads a frame; what is wrong with it otherwise.
    pub fn decode(bytes: &[u8]) -> Result<Frame, &'static str> {
        if bytes.len() > LARGEST {
            return Err("sent more than 60 KB at once");
        }
        let mut from = Reader { rest: bytes };
        let frame = from.frame().ok_or("sent bytes that are no message")?;
        match from.rest {
            [] => Ok(frame),
            _ => Err("sent a message with something behind it"),
        }
    }
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn epoch(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Members, none of them twice.
    fn members(&mut self) -> Option<Vec<PeerId>> {
        let count = usize::from(self.byte()?);
        let members: Option<Vec<PeerId>> =
            (0..count).map(|_| self.take().map(|bytes| PeerId(u128::from_le_bytes(bytes)))).collect();
        let members = members.filter(|members| members.len() <= MOST_MEMBERS)?;
        let is_twice = |(k, member): (usize, &PeerId)| members[..k].contains(member);
        (!members.iter().enumerate().any(is_twice)).then_some(members)
    }

    fn frame(&mut self) -> Option<Frame> {
        Some(match self.byte()? {
            1 => Frame::Hello { agreement: self.take()?, wants: self.flag()? },
            2 => Frame::Ready { epoch: self.epoch()?, repeats: self.flag()?, broken: self.members()? },
            3 => Frame::Propose { epoch: self.epoch()?, stayed: self.byte()?, members: self.members()? },
            4 => Frame::Answer { epoch: self.epoch()?, broken: self.members()? },
            5 => Frame::Commit { epoch: self.epoch()? },
            6 => Frame::Leave {
                epoch: self.epoch()?,
                why: match self.byte()? {
                    1 => LeftOut::Missing,
                    2 => LeftOut::Agreement,
                    _ => return None,
                },
            },
            7 => Frame::Part {
                epoch: self.epoch()?,
                number: self.word()?,
                total: self.word()?,
                at: self.word()?,
                body: std::mem::take(&mut self.rest).to_vec(),
            },
            8 => Frame::Alive,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were_and_no_piece_of_them_is_one() {
        let members = vec![PeerId(3), PeerId(u128::MAX)];
        let frames = [
            Frame::Hello { agreement: [7; 16], wants: true },
            Frame::Ready { epoch: 5, repeats: true, broken: members.clone() },
            Frame::Propose { epoch: u64::MAX, stayed: 1, members: members.clone() },
            Frame::Answer { epoch: 1, broken: Vec::new() },
            Frame::Commit { epoch: 9 },
            Frame::Leave { epoch: 9, why: LeftOut::Agreement },
            Frame::Alive,
        ];
        for frame in frames {
            let bytes = frame.encode();
            assert_eq!(Frame::decode(&bytes), Ok(frame));
            (0..bytes.len())
                .for_each(|end| assert!(Frame::decode(&bytes[..end]).is_err(), "{end} of {bytes:?}"));
            assert!(Frame::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
        let twice = Frame::Propose { epoch: 1, stayed: 0, members: vec![PeerId(1), PeerId(1)] };
        assert!(Frame::decode(&twice.encode()).is_err());
    }

    #[test]
    fn messages_are_cut_into_parts_of_60_kb() {
        for length in [0, 1, LARGEST, 200_001] {
            let message: Vec<u8> = (0..length).map(|k| k as u8).collect();
            let mut whole = Vec::new();
            for bytes in parts(4, 2, &message) {
                assert!(bytes.len() <= LARGEST);
                let Ok(Frame::Part { epoch: 4, number: 2, total, at, body }) = Frame::decode(&bytes) else {
                    panic!("{bytes:?}");
                };
                assert_eq!((total as usize, at as usize), (length, whole.len()));
                whole.extend(body);
            }
            assert_eq!(whole, message);
        }
    }
}
