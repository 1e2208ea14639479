-- Content addressing: equal values are stored once.
--   ids        hash    content id (32 bytes) -> id; there exactly while the value has not ended
--   h:SEGMENT  string  32 bytes a value of a whole segment: its content id, to take the entry out again
-- A place in `ids` may be stale to whoever read it, but never wrong: ids are not used again, so it is GONE.

-- Where the new values are already, as INDEX ID …, the first value of the batch being 0.
local function find_equal(ids, content)
  local equal, shas = {}, {}
  for at = 1, #content, 32 do
    shas[#shas + 1] = string.sub(content, at, at + 31)
  end
  for i, id in ipairs(shas[1] and redis.call('HMGET', ids, unpack(shas)) or {}) do
    if id then
      equal[#equal + 1] = (i - 1) .. ' ' .. id
    end
  end
  return equal
end

local function enter_content(ids, segment, content, h)
  local entries = {}
  for at = 1, #content, 32 do
    entries[#entries + 1] = string.sub(content, at, at + 31)
    entries[#entries + 1] = segment .. '.' .. (at + 31) / 32 + 1
  end
  if h then redis.call('SET', h, content) end
  redis.call('HSET', ids, unpack(entries))
end

-- Takes the entries of ended values out.
local function forget_content(ids, seg, values)
  local shas = {}
  for i, value in ipairs(values) do
    if seg.packed then
      shas[i] = seg.packed[seg.at[value] + 4]
    else
      shas[i] = redis.call('GETRANGE', seg.keys.h, 32 * value - 64, 32 * value - 33)
    end
  end
  if shas[1] and shas[1] ~= '' then redis.call('HDEL', ids, unpack(shas)) end
end
