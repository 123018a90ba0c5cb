from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key="signs the sessions of this example")


@app.post("/seed_session")
async def seed_session() -> dict:
    return {}


@app.post("/verify")
async def verify() -> dict:
    return {"reward": 1.0}


@app.post("/get-note")
async def get_note(body: dict) -> dict:
    """Get a note by its number."""
    return body


@app.post("/get_note")
async def get_note_by_title(body: dict) -> dict:
    """Get a note by its title."""
    return body
