"""Customers, and who looks after them."""

from office_records import NOW, Address, Customer, CustomerStatus, Day, Product
from office_tables import OfficeTables
from pydantic import JsonValue

from .changing import update_record
from .company_directory import require_colleague
from .matching import Limit, is_between, mentions
from .toolkit import Toolkit

customer_relationship_manager = Toolkit("customer_relationship_manager")


@customer_relationship_manager.tool
def search_customers(
    tables: OfficeTables,
    query: str = "",
    status: CustomerStatus | None = None,
    product: Product | None = None,
    assigned_to: Address | None = None,
    last_contact_until: Day | None = None,
    limit: Limit = 10,
) -> JsonValue:
    """Customers that fit everything given, those waiting longest first."""
    found = [
        customer
        for customer in tables.customers
        if mentions(query, customer.company, customer.contact, customer.email, customer.notes)
        and status in (None, customer.status)
        and product in (None, customer.product)
        and assigned_to in (None, customer.assigned_to)
        and is_between(customer.last_contact, None, last_contact_until)
    ]
    found.sort(key=lambda customer: customer.last_contact)
    return [customer.model_dump() for customer in found[:limit]]


@customer_relationship_manager.tool
def add_customer(
    tables: OfficeTables,
    company: str,
    contact: str,
    email: Address,
    assigned_to: Address,
    product: Product,
    status: CustomerStatus = "lead",
    notes: str = "",
) -> JsonValue:
    """A new customer, last contacted today."""
    require_colleague(tables, assigned_to)
    customer = Customer(
        id=tables.customers.next_id(),
        company=company,
        contact=contact,
        email=email,
        assigned_to=assigned_to,
        status=status,
        product=product,
        last_contact=NOW[:10],
        notes=notes,
    )
    return tables.customers.put(customer).model_dump()


@customer_relationship_manager.tool
def update_customer(
    tables: OfficeTables,
    customer_id: str,
    contact: str | None = None,
    email: Address | None = None,
    assigned_to: Address | None = None,
    status: CustomerStatus | None = None,
    product: Product | None = None,
    last_contact: Day | None = None,
    notes: str | None = None,
) -> JsonValue:
    """Record what changed at a customer."""
    if assigned_to is not None:
        require_colleague(tables, assigned_to)
    return update_record(
        tables.customers,
        customer_id,
        contact=contact,
        email=email,
        assigned_to=assigned_to,
        status=status,
        product=product,
        last_contact=last_contact,
        notes=notes,
    ).model_dump()


@customer_relationship_manager.tool
def delete_customer(tables: OfficeTables, customer_id: str) -> JsonValue:
    """Take a customer out of the books."""
    return {"deleted": tables.customers.remove(customer_id).id}
