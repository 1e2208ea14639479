-- A root that moves on to a value of the batch, in the call that puts it. A version of a tree shares nearly all of its children
-- with the one before. What the old version gives up and the new one takes goes from one to the other: its count stays, nobody
-- has to ask for it, and that it is alive says the old version, which holds it.
-- Needs: meta, counts, edges, roots, lists_from, known_at, heirs (see after.lua), and what shard.lua, shelves.lua and lines.lua give.

local VERSION_VALUES, VERSION_EDGES = 16, 256 -- the most of the old version that ends in this call; steps do the rest

-- The change of the root, if it can be made now: what root.lua would refuse, or nothing may be freed, is left to root.lua.
local function read_change(packed)
  if packed == '' then return nil end
  local it = {}
  it.name, it.expected, it.floor, it.target, it.operation, it.by, it.space, it.capacity =
    struct.unpack('>' .. string.rep('Hc0', 8), packed)
  local dropped = redis.call('HGET', meta, 'dropped')
  local root = redis.call('HGET', roots, it.name)
  local version, last = '0', ''
  it.old = ''
  if root then version, last, it.old = string.match(root, '^(%d+);(%x+);(.*)$') end
  if last == it.operation or version ~= it.expected or (not root and it.floor ~= dropped) then return nil end
  if marked or quiet() then return nil end
  it.dropped = dropped
  it.version = digits(math.max(micros, tonumber(version) + 1, tonumber(dropped) + 1))
  return it
end

-- What ends with the old version, and what it gives up; more: how many holds the batch wants on values outside of it, by id,
-- of which those that change hands are taken off. Writes nothing. Answers the values that end, their edges, and packed ids of
-- values that lose a hold.
local function succeed(old, more)
  local ending, lists, given_up = {}, {}, {}
  local edges_met, candidates, n = 0, {}, 0
  local ended = {} -- id -> true; what is given up once more after that has too low a count, and release will see it

  local function give_up(id)
    local wanted = more[id]
    if wanted then
      more[id] = wanted > 1 and wanted - 1 or nil
    else
      n = n + 1
      candidates[n] = id
    end
  end

  -- A value of the batch that was put after one that ends takes over what both hold. Answers the rest.
  local function inherit(number)
    local at = lists_from + 2 * number - 1
    local list, _, after = parts_of(ARGV[at])
    ARGV[at] = line_entry(list, NOBODY, after)
    return ARGV[known_at(number) + 1]
  end

  give_up(old)
  while n > 0 do
    local some = candidates
    local states = get_all(counts, some)
    local children = get_all(edges, some)
    candidates, n = {}, 0
    for i, id in ipairs(some) do
      local list = children[i]
      local fits = list and #list % width == 0 and #ending < VERSION_VALUES and edges_met + #list / width <= VERSION_EDGES
      if states[i] == '1' and fits and not ended[id] then
        ended[id] = true
        ending[#ending + 1] = id
        lists[#lists + 1] = list
        edges_met = edges_met + #list / width
        local ids = ids_of(heirs[id] and inherit(heirs[id]) or list)
        heirs[id] = nil
        for j = 1, #ids do give_up(ids[j]) end
      else
        given_up[#given_up + 1] = id
      end
    end
  end
  return ending, lists, table.concat(given_up)
end
